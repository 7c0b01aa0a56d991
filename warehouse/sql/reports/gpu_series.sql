-- grain: GPU x sample, or x slice of step_s seconds where that is more than 0 (named by its last sample)
-- inputs: samples, gpus, gpu_keys
-- law: means of what was measured; what was not is null, and a slice without samples has no row
-- params: step_s=0, gpu_id, deployment
with chosen as (
    select gpus.gpu_id, gpus.gpu_name, gpus.deployment, gpu_keys.host, gpu_keys.gpu_uuid, gpu_keys.bus_id
    from gpus
    inner join gpu_keys on gpu_keys.gpu_id = gpus.gpu_id
    where
        ($gpu_id is null or gpus.gpu_id = $gpu_id)
        and ($deployment is null or gpus.deployment = $deployment)
)

select
    make_timestamp(max(samples.t_ns) // 1000) as t_at,
    chosen.gpu_id,
    any_value(chosen.gpu_name) as gpu_name,
    any_value(chosen.deployment) as deployment,
    avg(samples.value) filter (where samples.metric = 'util_ratio') as util_ratio,
    avg(samples.value) filter (where samples.metric = 'memory_used_mib') as memory_used_mib,
    avg(samples.value) filter (where samples.metric = 'power_w') as power_w
from samples
inner join chosen
    on chosen.host is not distinct from samples.host
    and chosen.gpu_uuid is not distinct from samples.gpu_uuid
    and chosen.bus_id is not distinct from samples.bus_id
where
    samples.metric in ('util_ratio', 'memory_used_mib', 'power_w')
    and samples.t_ns >= $since_ns
    and samples.t_ns < $until_ns
group by chosen.gpu_id, samples.t_ns // greatest(1, ($step_s::double * 1e9)::bigint)
order by chosen.gpu_id, t_at
