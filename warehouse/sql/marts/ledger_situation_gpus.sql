-- grain: situation x GPU that is held in it
-- inputs: ledger_situations, ledger_gpus, ledger_segments
-- law: what ledger_segments says at the instant that stands for the situation
create or replace temp table ledger_situation_gpus as
select
    asked.situation,
    asked.pool,
    asked.gpu,
    asked.replica_number,
    segments.code,
    segments.micro_usd
from (
    select situations.*, ledger_gpus.gpu, ledger_gpus.replica_number
    from ledger_situations as situations
    inner join ledger_gpus on ledger_gpus.pool = situations.pool
) as asked
asof join ledger_segments as segments
    on segments.gpu = asked.gpu and segments.quarter_ns = asked.quarter_ns and segments.from_ns <= asked.t_ns
where segments.to_ns > asked.t_ns
