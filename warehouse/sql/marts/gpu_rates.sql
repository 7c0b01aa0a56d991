-- grain: GPU x validity of its price, half-open
-- inputs: gpus, deployments, gpu_prices
-- law: at any instant at most one price; the deployment's own first, then the user's list, then the default row
insert into gpu_rates
with listed as (
    select
        sku,
        from_ns,
        usd_per_gpu_hour,
        source,
        is_user_row,
        row_number() over (
            partition by sku, from_ns order by is_user_row desc, is_default desc, provider, kind, region
        ) as turn
    from gpu_prices
    where is_user_row or is_default
),

-- a default row stops where the user's first row starts
dated as (
    select
        sku,
        from_ns,
        lead(from_ns, 1, 9223372036854775807) over (partition by sku order by from_ns) as to_ns,
        usd_per_gpu_hour,
        source
    from listed
    where
        turn = 1
        and (
            is_user_row
            or from_ns < coalesce(
                (select min(own.from_ns) from gpu_prices as own where own.is_user_row and own.sku = listed.sku),
                9223372036854775807
            )
        )
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
