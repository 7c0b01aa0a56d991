-- grain: quarter-hour x GPU x stretch of it that is held
-- inputs: dirty_quarters, gpu_holds, ledger_gpus
-- law: cut at quarter-hours, never empty
create or replace temp table ledger_held as
select
    dirty_quarters.quarter_ns,
    ledger_gpus.pool,
    ledger_gpus.gpu,
    greatest(gpu_holds.from_ns, dirty_quarters.quarter_ns) as from_ns,
    least(gpu_holds.to_ns, dirty_quarters.quarter_ns + 900000000000) as to_ns
from dirty_quarters
inner join gpu_holds
    on gpu_holds.from_ns < dirty_quarters.quarter_ns + 900000000000 and gpu_holds.to_ns > dirty_quarters.quarter_ns
inner join ledger_gpus on ledger_gpus.gpu_id = gpu_holds.gpu_id
