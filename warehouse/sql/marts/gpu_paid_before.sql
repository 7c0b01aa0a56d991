-- grain: GPU x stretch of time x what was said of it (its hold, or its price), as the refresh before knew it
-- inputs: gpu_holds, gpu_rates, gpus
-- law: as gpu_paid_after, so that the two compare row by row
create or replace temp table gpu_paid_before as
select
    gpu_holds.gpu_id,
    concat_ws('|', 'hold', gpus.deployment, gpus.replica, gpus.simulated) as said,
    gpu_holds.from_ns,
    gpu_holds.to_ns
from gpu_holds
left join gpus on gpus.gpu_id = gpu_holds.gpu_id
union all
select gpu_id, concat_ws('|', 'rate', usd_per_hour), from_ns, to_ns from gpu_rates
