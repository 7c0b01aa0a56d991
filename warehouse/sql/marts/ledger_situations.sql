-- grain: pool x situation of its GPUs
-- inputs: ledger_fleets
-- law: one instant stands for all that are alike
create or replace temp table ledger_situations as
select
    row_number() over () as situation,
    pool,
    fingerprint,
    arg_min(quarter_ns, t_ns) as quarter_ns,
    min(t_ns) as t_ns
from ledger_fleets
group by pool, fingerprint
