-- grain: GPU x validity of its price, half-open
-- inputs: gpus, gpu_cuts, deployments, gpu_prices
-- law: at any instant at most one price: the deployment's own, else the one in force for the SKU. A slice costs its
-- sevenths of the card, the card what its slices leave; neither has a price where a slice does not tell its size
insert into gpu_rates
with dated as (
    select
        sku,
        from_ns,
        least(
            coalesce(to_ns, 9223372036854775807),
            lead(from_ns, 1, 9223372036854775807) over (partition by sku order by from_ns)
        ) as to_ns,
        usd_per_gpu_hour,
        source
    from gpu_prices
),

whole as (
    select
        gpus.gpu_id,
        gpus.gpu_uuid,
        gpus.parent_uuid,
        gpus.slices,
        0::bigint as from_ns,
        9223372036854775807 as to_ns,
        deployments.usd_per_gpu_hour,
        coalesce(deployments.price_source, 'settings') as source
    from gpus
    inner join deployments on deployments.deployment = gpus.deployment
    where deployments.usd_per_gpu_hour is not null
    union all
    select
        gpus.gpu_id,
        gpus.gpu_uuid,
        gpus.parent_uuid,
        gpus.slices,
        dated.from_ns,
        dated.to_ns,
        dated.usd_per_gpu_hour,
        dated.source
    from gpus
    left join deployments on deployments.deployment = gpus.deployment
    inner join dated on dated.sku = gpus.sku
    where deployments.usd_per_gpu_hour is null
),

cut as (
    select
        whole.gpu_id,
        greatest(whole.from_ns, gpu_cuts.from_ns) as from_ns,
        least(whole.to_ns, gpu_cuts.to_ns) as to_ns,
        whole.usd_per_gpu_hour,
        gpu_cuts.taken,
        whole.source
    from whole
    inner join gpu_cuts on gpu_cuts.gpu_id = whole.gpu_id
    where whole.from_ns < gpu_cuts.to_ns and whole.to_ns > gpu_cuts.from_ns
)

select gpu_id, from_ns, to_ns, usd_per_gpu_hour, source
from whole
where parent_uuid is null and gpu_id not in (select gpu_cuts.gpu_id from gpu_cuts)
union all
select
    gpu_id,
    from_ns,
    to_ns,
    ((usd_per_gpu_hour * 1000000)::hugeint * slices // 7)::decimal(18, 0) * 0.000001::decimal(7, 6),
    source || ', ' || slices || '/7 of a card'
from whole
where slices is not null
union all
-- what the slices leave: their parts are rounded down, so that the whole is the card's price
select
    gpu_id,
    from_ns,
    to_ns,
    (
        (usd_per_gpu_hour * 1000000)::hugeint - (usd_per_gpu_hour * 1000000)::hugeint * taken // 7
    )::decimal(18, 0) * 0.000001::decimal(7, 6),
    case when taken = 0 then source else source || ', ' || (7 - taken) || '/7 of a card' end
from cut
where taken is not null
