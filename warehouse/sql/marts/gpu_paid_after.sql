-- grain: GPU x stretch of time x what is said of it (its hold, its price or its engine's limit), as of this refresh
-- inputs: gpu_holds, gpu_rates, gpus, engine_limits
-- law: as gpu_paid_before, so that the two compare row by row
create or replace temp table gpu_paid_after as
select
    gpu_holds.gpu_id,
    concat_ws('|', 'hold', gpus.deployment, gpus.replica, gpus.simulated) as said,
    gpu_holds.from_ns,
    gpu_holds.to_ns
from gpu_holds
left join gpus on gpus.gpu_id = gpu_holds.gpu_id
union all
select gpu_id, concat_ws('|', 'rate', usd_per_hour), from_ns, to_ns from gpu_rates
union all
select gpus.gpu_id, concat_ws('|', 'limit', told.max_num_seqs), told.from_ns, told.to_ns
from gpus
inner join (
    select
        deployment,
        max_num_seqs,
        quarter_ns as from_ns,
        lead(quarter_ns, 1, 9223372036854775807) over (partition by deployment order by quarter_ns) as to_ns
    from engine_limits
) as told on told.deployment = gpus.deployment
