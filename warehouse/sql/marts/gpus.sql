-- grain: GPU that was sampled, or that the settings declare and nothing sampled
-- inputs: gpu_sightings, gpu_seen, gpus_before, gpu_renamed, gpu_keys, gpu_slots, gpu_placed, deployments, deployment_use, sku_names
-- law: a place of a deployment is filled once: by the GPU of its uuid, else by one whose samples say that it serves the
-- deployment, else by a sampled GPU of its SKU, else declared. Slices are never dealt by SKU
insert into gpus by name
with seen as (
    select gpu_id, host, gpu_uuid, bus_id, gpu_index, gpu_name, from_ns, to_ns, simulated from gpu_sightings
    union all
    select
        coalesce(gpu_renamed.gpu_id, gpus_before.gpu_id),
        gpus_before.host,
        gpus_before.gpu_uuid,
        gpus_before.bus_id,
        gpus_before.gpu_index,
        gpus_before.gpu_name,
        gpus_before.first_ns,
        gpus_before.last_ns,
        gpus_before.simulated
    from gpus_before
    left join gpu_renamed on gpu_renamed.old_id = gpus_before.gpu_id
    where not gpus_before.is_declared
),

sampled as (
    select
        seen.gpu_id,
        -- as the fullest name tells it
        min_by(host, (gpu_uuid is null, bus_id is null, host is null, host, bus_id)) as host,
        min(gpu_uuid) as gpu_uuid,
        min_by(bus_id, (gpu_uuid is null, bus_id is null, host is null, host, bus_id)) as bus_id,
        arg_max(gpu_index, to_ns) as gpu_index,
        arg_max(gpu_name, to_ns) as gpu_name,
        -- what was seen is told again where a clock's offset became known, and what was told before is not
        coalesce(any_value(reached.first_ns), min(from_ns)) as first_ns,
        coalesce(any_value(reached.last_ns), max(to_ns)) as last_ns,
        bool_or(simulated) as simulated
    from seen
    left join (
        select gpu_id, min(from_ns) as first_ns, max(to_ns) as last_ns from gpu_seen group by gpu_id
    ) as reached on reached.gpu_id = seen.gpu_id
    group by seen.gpu_id
),

cut as (
    select gpu_id, max(parent_uuid) as parent_uuid, max(slices) as slices
    from gpu_keys
    where parent_uuid is not null
    group by gpu_id
),

named as (
    select
        sampled.*,
        cut.parent_uuid,
        cut.slices,
        sampled.gpu_uuid in (select cut.parent_uuid from cut) as is_parent,
        names.sku as name_sku,
        names.idle_w,
        row_number() over (
            partition by sampled.gpu_uuid order by sampled.last_ns desc, sampled.gpu_id
        ) as turn
    from sampled
    left join cut on cut.gpu_id = sampled.gpu_id
    left join (
        select
            cards.gpu_name,
            arg_min(sku_names.sku, sku_names.position) as sku,
            arg_min(sku_names.idle_w, sku_names.position) as idle_w
        from (select distinct gpu_name from sampled) as cards
        inner join sku_names on cards.gpu_name ilike sku_names.pattern
        group by cards.gpu_name
    ) as names on names.gpu_name = sampled.gpu_name
),

by_uuid as (
    select named.gpu_id, gpu_slots.deployment, gpu_slots.slot
    from named
    inner join gpu_slots on gpu_slots.gpu_uuid = named.gpu_uuid
    where named.turn = 1
),

-- of a deployment, places that no uuid fills go to the GPUs that say they serve it, server by server
open_slots as (
    select gpu_slots.*, row_number() over (partition by gpu_slots.deployment order by gpu_slots.slot) as turn
    from gpu_slots
    anti join by_uuid on by_uuid.deployment = gpu_slots.deployment and by_uuid.slot = gpu_slots.slot
),

saying as (
    select
        named.gpu_id,
        gpu_placed.deployment,
        gpu_placed.placed_by,
        row_number() over (
            partition by gpu_placed.deployment
            order by gpu_placed.host, gpu_placed.served_port, named.gpu_index, named.gpu_id
        ) as turn
    from named
    inner join gpu_placed on gpu_placed.gpu_id = named.gpu_id
    anti join by_uuid on by_uuid.gpu_id = named.gpu_id
    where not named.is_parent
),

by_saying as (
    select
        saying.gpu_id,
        saying.deployment,
        open_slots.slot,
        saying.placed_by,
        -- more GPUs than the settings count make replicas of their own
        coalesce(
            open_slots.replica,
            (
                (coalesce(sizes.slots, 0) + saying.turn - coalesce(sizes.open, 0) - 1)
                // greatest(1, coalesce(deployments.gpus_per_replica, 1))
            )::varchar
        ) as replica
    from saying
    left join open_slots on open_slots.deployment = saying.deployment and open_slots.turn = saying.turn
    left join (
        select gpu_slots.deployment, count(*) as slots, count(open_slots.slot) as open
        from gpu_slots
        left join open_slots on open_slots.deployment = gpu_slots.deployment and open_slots.slot = gpu_slots.slot
        group by gpu_slots.deployment
    ) as sizes on sizes.deployment = saying.deployment
    left join deployments on deployments.deployment = saying.deployment
),

free as (
    select
        gpu_id,
        name_sku,
        row_number() over (partition by name_sku order by host, gpu_index, gpu_id) as number_in_sku
    from named
    where
        gpu_id not in (select by_uuid.gpu_id from by_uuid)
        and gpu_id not in (select by_saying.gpu_id from by_saying)
        and parent_uuid is null
        and not is_parent
),

dealt as (
    select
        open_slots.deployment,
        open_slots.slot,
        open_slots.sku,
        row_number() over (partition by open_slots.sku order by open_slots.number_in_sku) as number_in_sku
    from open_slots
    anti join by_saying on by_saying.deployment = open_slots.deployment and by_saying.slot = open_slots.slot
    where open_slots.number_in_sku is not null
),

filled as (
    select by_uuid.gpu_id, by_uuid.deployment, by_uuid.slot, 'uuid' as placed_by, gpu_slots.replica
    from by_uuid
    inner join gpu_slots on gpu_slots.deployment = by_uuid.deployment and gpu_slots.slot = by_uuid.slot
    union all
    select gpu_id, deployment, slot, placed_by, replica from by_saying
    union all
    select free.gpu_id, dealt.deployment, dealt.slot, 'sku', gpu_slots.replica
    from free
    inner join dealt on dealt.sku = free.name_sku and dealt.number_in_sku = free.number_in_sku
    inner join gpu_slots on gpu_slots.deployment = dealt.deployment and gpu_slots.slot = dealt.slot
)

select
    named.gpu_id,
    named.host,
    named.gpu_uuid,
    named.bus_id,
    named.gpu_index,
    named.gpu_name,
    coalesce(gpu_slots.sku, named.name_sku) as sku,
    filled.deployment,
    filled.replica,
    false as is_declared,
    named.first_ns,
    named.last_ns,
    named.simulated,
    named.parent_uuid,
    named.slices::integer as slices,
    filled.placed_by,
    case when named.parent_uuid is null then named.idle_w end as idle_w
from named
left join filled on filled.gpu_id = named.gpu_id
left join gpu_slots on gpu_slots.deployment = filled.deployment and gpu_slots.slot = filled.slot
union all by name
select
    concat_ws('/', 'declared', gpu_slots.deployment, gpu_slots.slot) as gpu_id,
    gpu_slots.gpu_uuid,
    gpu_slots.sku,
    gpu_slots.deployment,
    gpu_slots.replica,
    true as is_declared,
    deployment_use.first_ns,
    deployment_use.last_ns,
    coalesce(deployment_use.simulated, false) as simulated,
    'declared' as placed_by
from gpu_slots
left join deployment_use on deployment_use.deployment = gpu_slots.deployment
anti join filled on filled.deployment = gpu_slots.deployment and filled.slot = gpu_slots.slot
