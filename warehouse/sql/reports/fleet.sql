-- grain: deployment with GPUs that were held in the range
-- inputs: gpu_timeline, gpu_ledger, gpus, gpu_rates, deployment_concurrency
-- law: gpu_s is what was held and cost_usd its bill, null where a part of it has no price; the range is that of whole
--      quarter-hours, as the ledger has it. concurrency is the newest of the range, replicas all that were held in it;
--      usd_per_gpu_hour is the price of the end of the range, the mean over the cards
with
stretches as (
    select *, greatest(from_ns, $since_ns) as begin_ns, least(to_ns, $until_ns) as close_ns
    from gpu_timeline
    where
        deployment is not null
        and quarter_ns > $since_ns - 900000000000
        and quarter_ns < $until_ns
        and from_ns < $until_ns
        and to_ns > $since_ns
),

known as (
    select
        deployment,
        min(begin_ns) as from_ns,
        max(close_ns) as until_ns,
        (sum(close_ns - begin_ns) / 1e9)::double as gpu_s,
        coalesce(sum(close_ns - begin_ns) filter (where state != 'unknown'), 0)::double / sum(close_ns - begin_ns)
            as coverage_ratio,
        count(distinct replica) as replicas
    from stretches
    group by deployment
),

bills as (
    select
        deployment,
        case when bool_and(cost_usd is not null) then sum(cost_usd)::decimal(38, 12) end as cost_usd
    from gpu_ledger
    where deployment is not null and quarter_ns >= $since_ns and quarter_ns < $until_ns
    group by deployment
),

cards as (
    select
        g.deployment,
        any_value(g.sku order by g.gpu_id) as sku,
        max(p.cards) as gpus_per_replica,
        case when bool_and(r.usd_per_hour is not null) then avg(r.usd_per_hour)::decimal(18, 6) end as usd_per_gpu_hour,
        string_agg(distinct r.source, '; ' order by r.source) as price_source
    from gpus as g
    inner join known as k on g.deployment = k.deployment
    inner join (select deployment, replica, count(*) as cards from gpus group by deployment, replica) as p
        on g.deployment = p.deployment and g.replica is not distinct from p.replica
    left join gpu_rates as r on g.gpu_id = r.gpu_id and r.from_ns < k.until_ns and r.to_ns >= k.until_ns
    group by g.deployment
),

sizes as (
    select
        deployment,
        arg_max(concurrency, quarter_ns) as concurrency,
        arg_max(source, quarter_ns) as concurrency_source
    from deployment_concurrency
    where quarter_ns < $until_ns
    group by deployment
)

select
    k.deployment,
    make_timestamp(k.from_ns // 1000) as from_at,
    make_timestamp(k.until_ns // 1000) as until_at,
    k.replicas,
    c.gpus_per_replica,
    c.sku,
    s.concurrency,
    s.concurrency_source,
    k.gpu_s,
    b.cost_usd,
    c.usd_per_gpu_hour,
    c.price_source,
    k.coverage_ratio
from known as k
left join bills as b on k.deployment = b.deployment
left join cards as c on k.deployment = c.deployment
left join sizes as s on k.deployment = s.deployment
order by k.deployment
