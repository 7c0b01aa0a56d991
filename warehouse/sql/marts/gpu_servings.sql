-- grain: GPU x what its samples say of whom it serves
-- inputs: gpu_servings_before, samples, gpu_keys, dirty_times
-- law: nothing is said of a GPU whose samples name neither a deployment, a server nor a workload
insert into gpu_servings
with touched as (
    select min(from_ns) as from_ns, max(to_ns) as to_ns from dirty_times
),

told as (
    select
        host,
        gpu_uuid,
        bus_id,
        deployment,
        served_port,
        served_model,
        workload,
        min(t_ns) as from_ns,
        max(t_ns) as to_ns
    from samples
    where
        t_ns >= (select from_ns from touched)
        and t_ns <= (select to_ns from touched)
        and coalesce(deployment, served_model, workload, served_port::varchar) is not null
    group by host, gpu_uuid, bus_id, deployment, served_port, served_model, workload
)

select
    gpu_id,
    deployment,
    host,
    served_port,
    served_model,
    workload,
    min(from_ns) as from_ns,
    max(to_ns) as to_ns
from (
    select * from gpu_servings_before
    union all by name
    select
        gpu_keys.gpu_id,
        told.deployment,
        told.host,
        told.served_port,
        told.served_model,
        told.workload,
        told.from_ns,
        told.to_ns
    from told
    inner join gpu_keys
        on gpu_keys.host is not distinct from told.host
        and gpu_keys.gpu_uuid is not distinct from told.gpu_uuid
        and gpu_keys.bus_id is not distinct from told.bus_id
)
group by all
