-- grain: place for one GPU in a deployment, counted from 0
-- inputs: deployments, deployment_gpus
-- law: as many as the settings count, or as many as they name where these are more
create or replace temp table gpu_slots as
with named as (
    select
        deployment,
        gpu_uuid,
        row_number() over (partition by deployment order by position, gpu_uuid) - 1 as slot
    from deployment_gpus
),

sized as (
    select
        deployments.deployment,
        deployments.sku,
        greatest(1, coalesce(deployments.gpus_per_replica, 1)) as per_replica,
        greatest(coalesce(deployments.gpus, 0), count(named.slot)) as slots,
        count(named.slot) > 0 as has_names
    from deployments
    left join named on named.deployment = deployments.deployment
    where deployments.gpus > 0
    group by deployments.deployment, deployments.sku, deployments.gpus_per_replica, deployments.gpus
),

offset_in_sku as (
    select
        *,
        coalesce(
            sum(slots) filter (where not has_names) over (
                partition by sku order by deployment rows between unbounded preceding and 1 preceding
            ),
            0
        ) as first_number
    from sized
),

places as (
    select *, unnest(range(slots)) as slot
    from offset_in_sku
)

select
    places.deployment,
    places.slot,
    (places.slot // places.per_replica)::varchar as replica,
    places.sku,
    named.gpu_uuid,
    -- a deployment that names no GPU takes the sampled ones of its SKU in order
    case when not places.has_names then places.first_number + places.slot end as number_in_sku
from places
left join named on named.deployment = places.deployment and named.slot = places.slot
