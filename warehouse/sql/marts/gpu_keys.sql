-- grain: name (host, uuid, bus id) under which a source tells a GPU
-- inputs: gpu_keys_before, samples, dirty_times, setting
-- law: one uuid is one GPU, however many sources tell it and whatever they call its host, unless it is told with two
-- bus ids: captures that are masked share a uuid. A name without a uuid is the GPU at its host and bus. The id is that
-- of the fullest name, so that it does not depend on who told first
insert into gpu_keys by name
with touched as (
    select
        min(from_ns) - (select released_after_ns from setting) as from_ns,
        max(to_ns) + (select released_after_ns from setting) as to_ns
    from dirty_times
),

told as (
    select
        host,
        gpu_uuid,
        bus_id,
        max(parent_uuid) as parent_uuid,
        max(slices) as slices,
        bool_or(from_others) as from_others
    from (
        select host, gpu_uuid, bus_id, parent_uuid, slices, from_others from gpu_keys_before
        union all
        select host, gpu_uuid, bus_id, max(parent_uuid), max(slices), bool_or(source is distinct from 'nvml')
        from samples
        where t_ns >= (select from_ns from touched) and t_ns <= (select to_ns from touched)
        group by host, gpu_uuid, bus_id
    )
    group by host, gpu_uuid, bus_id
),

-- 00000000:3B:00.0 and 0000:3b:00.0 are one place
spelled as (
    select
        *,
        case when not regexp_full_match(gpu_uuid, '(GPU-)?[0-]+') then gpu_uuid end as card_uuid,
        parent_uuid is not null as is_slice,
        -- dcgm-exporter numbers slices, the driver names them: where both tell a card's, the named ones count
        gpu_uuid like '%/gi-%'
        and parent_uuid in (select named.parent_uuid from told as named where named.gpu_uuid like 'MIG-%') as is_again,
        regexp_replace(lower(bus_id), '^0*([0-9a-f]*:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])$', '\1') as bus
    from told
),

at_bus as (
    select host, bus, min(card_uuid) as card_uuid
    from spelled
    where host is not null and bus is not null and card_uuid is not null and not is_slice
    group by host, bus
    having min(card_uuid) = max(card_uuid)
),

found as (
    select
        spelled.* exclude (card_uuid),
        case when spelled.gpu_uuid is null then at_bus.card_uuid else spelled.card_uuid end as card_uuid
    from spelled
    left join at_bus on at_bus.host = spelled.host and at_bus.bus = spelled.bus
),

grouped as (
    select
        *,
        case
            when card_uuid is null then null
            when min(bus) over (partition by card_uuid) is not distinct from max(bus) over (partition by card_uuid)
                then card_uuid
        end as one_card,
        concat_ws('/', coalesce(host, ''), coalesce(gpu_uuid, ''), coalesce(bus_id, '')) as name
    from found
)

select
    host,
    gpu_uuid,
    bus_id,
    first_value(name) over (
        partition by coalesce(one_card, name)
        order by gpu_uuid is null, bus_id is null, host is null, name
    ) as gpu_id,
    parent_uuid,
    slices,
    from_others
from grouped
where is_again is not true
