-- grain: GPU x validity of its price, half-open
-- inputs: gpus, deployments, gpu_prices
-- law: at any instant at most one price: the deployment's own, else the one in force for the SKU
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
)

select gpus.gpu_id, 0, 9223372036854775807, deployments.usd_per_gpu_hour, coalesce(deployments.price_source, 'settings')
from gpus
inner join deployments on deployments.deployment = gpus.deployment
where deployments.usd_per_gpu_hour is not null
union all
select gpus.gpu_id, dated.from_ns, dated.to_ns, dated.usd_per_gpu_hour, dated.source
from gpus
left join deployments on deployments.deployment = gpus.deployment
inner join dated on dated.sku = gpus.sku
where deployments.usd_per_gpu_hour is null
