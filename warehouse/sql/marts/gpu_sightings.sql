-- grain: GPU x slice of a third of released_after, of the samples in touched times
-- inputs: samples, dirty_times, setting
-- law: two samples of one slice are never further apart than released_after, so slices join exactly
create or replace temp table gpu_sightings as
with touched as (
    select
        min(from_ns) - (select released_after_ns from setting) as from_ns,
        max(to_ns) + (select released_after_ns from setting) as to_ns
    from dirty_times
)

select
    host,
    gpu_uuid,
    bus_id,
    concat_ws('/', coalesce(host, ''), coalesce(gpu_uuid, ''), coalesce(bus_id, '')) as gpu_id,
    min(t_ns) as from_ns,
    max(t_ns) as to_ns,
    arg_max(gpu_index, t_ns) as gpu_index,
    arg_max(gpu_name, t_ns) as gpu_name,
    bool_or(coalesce(simulated, false)) as simulated
from samples
where
    t_ns >= (select from_ns from touched)
    and t_ns <= (select to_ns from touched)
    and t_ns <= (select now_ns from setting)
group by host, gpu_uuid, bus_id, t_ns // greatest(1, (select released_after_ns // 3 from setting))
