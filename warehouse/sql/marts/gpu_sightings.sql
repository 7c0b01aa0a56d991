-- grain: GPU x slice of a third of released_after, of the samples in touched times
-- inputs: samples, gpu_keys, host_offsets, dirty_times, setting
-- law: two samples of one slice are never further apart than released_after, so slices join exactly. Times are the
-- collector's: what a sampler's clock was off is taken away first
create or replace temp table gpu_sightings as
with touched as (
    select
        min(from_ns) - (select released_after_ns from setting) as from_ns,
        max(to_ns) + (select released_after_ns from setting) as to_ns
    from dirty_times
),

told as (
    select
        samples.host,
        samples.gpu_uuid,
        samples.bus_id,
        min(t_ns - coalesce(offset_ns, 0)) as from_ns,
        max(t_ns - coalesce(offset_ns, 0)) as to_ns,
        arg_max(gpu_index, t_ns) as gpu_index,
        arg_max(gpu_name, t_ns) as gpu_name,
        bool_or(coalesce(simulated, false)) as simulated
    from samples
    left join host_offsets
        on host_offsets.host is not distinct from samples.host
        and host_offsets.source is not distinct from samples.source
        and host_offsets.quarter_ns = samples.t_ns // 900000000000 * 900000000000
    where
        t_ns >= (select from_ns from touched)
        and t_ns <= (select to_ns from touched)
        and t_ns <= (select now_ns from setting)
    group by samples.host, samples.gpu_uuid, samples.bus_id, t_ns // greatest(1, (select released_after_ns // 3 from setting))
)

select told.*, gpu_keys.gpu_id
from told
inner join gpu_keys
    on gpu_keys.host is not distinct from told.host
    and gpu_keys.gpu_uuid is not distinct from told.gpu_uuid
    and gpu_keys.bus_id is not distinct from told.bus_id
