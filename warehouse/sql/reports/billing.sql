-- grain: deployment with GPUs x billing plan
-- inputs: gpu_timeline, gpu_rates
-- law: the same load under other bills: a card is needed while it is serving or busy for someone unknown. as_held pays
--      what was held; reserved pays every card for every hour of the range that the deployment was held in, less
--      reserved_discount_ratio; hourly and per_minute pay each card for the hours or minutes in which it was needed;
--      per_second lets it go keep_warm_s after it was needed and pays the cold start and at least minimum_s each time.
--      Loads are not moved: whoever waits for a cold start waits added_wait_s in all, and a longer wait could ask for
--      more cards. Unknown time is paid in as_held alone: coverage_ratio tells how much there is. Cost is null where a
--      card has no price
-- params: deployment, keep_warm_s=60, cold_start_s=30.0, minimum_s=60, reserved_discount_ratio=0.0
with
stretches as (
    select deployment, gpu_id, state, greatest(from_ns, $since_ns) as from_ns, least(to_ns, $until_ns) as to_ns
    from gpu_timeline
    where
        deployment is not null
        and from_ns < $until_ns
        and to_ns > $since_ns
        and ($deployment is null or deployment = $deployment)
),

needed as (
    select *
    from stretches
    where state in ('serving', 'unattributed')
),

-- Stretches of need that lie closer together than a card is kept warm are one.
marked as (
    select
        *,
        coalesce(
            from_ns - lag(to_ns) over (partition by deployment, gpu_id order by from_ns) > $keep_warm_s::bigint * 1000000000, true
        ) as wakes
    from needed
),

numbered as (
    select *, sum(wakes::integer) over (partition by deployment, gpu_id order by from_ns) as wake
    from marked
),

wakes as (
    select deployment, gpu_id, wake, min(from_ns) as from_ns, max(to_ns) as to_ns
    from numbered
    group by deployment, gpu_id, wake
),

hours as (
    select distinct deployment, gpu_id, unnest(range(from_ns // 3600000000000, (to_ns - 1) // 3600000000000 + 1)) as hour
    from needed
),

minutes as (
    select distinct deployment, gpu_id, unnest(range(from_ns // 60000000000, (to_ns - 1) // 60000000000 + 1)) as minute
    from needed
),

held_hours as (
    select distinct deployment, gpu_id, unnest(range(from_ns // 3600000000000, (to_ns - 1) // 3600000000000 + 1)) as hour
    from stretches
),

paid as (
    select deployment, gpu_id, 'as_held' as plan, from_ns, to_ns - from_ns as paid_ns, 0 as cold_starts from stretches
    union all
    select deployment, gpu_id, 'reserved', hour * 3600000000000, 3600000000000, 0 from held_hours
    union all
    select deployment, gpu_id, 'hourly', hour * 3600000000000, 3600000000000, 0 from hours
    union all
    select deployment, gpu_id, 'per_minute', minute * 60000000000, 60000000000, 0 from minutes
    union all
    select
        deployment,
        gpu_id,
        'per_second',
        from_ns,
        greatest(
            to_ns - from_ns + $keep_warm_s::bigint * 1000000000 + ($cold_start_s * 1000000000)::bigint,
            $minimum_s::bigint * 1000000000
        ),
        1
    from wakes
),

priced as (
    select
        p.*,
        -- In 1e-12 USD, rounded down: USD per hour is exact to 1e-6, and so is the share that is left of it.
        (
            p.paid_ns::hugeint
            * (r.usd_per_hour * 1000000)::hugeint
            * case when p.plan = 'reserved' then ((1 - $reserved_discount_ratio) * 1000000)::hugeint else 1000000 end
            // 3600000000000
        )::decimal(26, 0)
        * 0.000000000001::decimal(12, 12) as cost_usd,
        r.source
    from paid as p
    left join gpu_rates as r
        on r.gpu_id = p.gpu_id and r.from_ns <= greatest(p.from_ns, $since_ns) and r.to_ns > greatest(p.from_ns, $since_ns)
),

coverage as (
    select
        deployment,
        coalesce(sum(to_ns - from_ns) filter (where state <> 'unknown'), 0) / sum(to_ns - from_ns) as coverage_ratio
    from stretches
    group by deployment
),

needs as (
    select deployment, sum(to_ns - from_ns) / 1e9 as needed_gpu_s
    from needed
    group by deployment
),

plans as (
    select c.deployment, c.coverage_ratio, p.plan, p.assumed
    from coverage as c
    cross join (
        values
        ('as_held', null),
        ('reserved', 'every hour of the range at the price of the book less ' || $reserved_discount_ratio || ' of it'),
        ('hourly', 'each hour in which a card was needed, whole'),
        ('per_minute', 'each minute in which a card was needed, whole'),
        (
            'per_second',
            'kept warm ' || $keep_warm_s || ' s, cold start ' || $cold_start_s || ' s billed, at least ' || $minimum_s || ' s'
        )
    ) as p (plan, assumed)
)

select
    l.deployment,
    l.plan,
    coalesce(any_value(n.needed_gpu_s), 0)::double as needed_gpu_s,
    coalesce(sum(p.paid_ns) / 1e9, 0)::double as billed_gpu_s,
    -- A card that no plan ever needs costs nothing, whatever its price.
    case when count(p.plan) = count(p.cost_usd) then coalesce(sum(p.cost_usd), 0)::decimal(38, 12) end as cost_usd,
    coalesce(sum(p.cold_starts), 0)::bigint as cold_starts,
    (coalesce(sum(p.cold_starts), 0) * $cold_start_s)::double as added_wait_s,
    any_value(l.coverage_ratio)::double as coverage_ratio,
    any_value(l.assumed) as assumed,
    string_agg(distinct p.source, '; ' order by p.source) as price_source
from plans as l
left join priced as p on l.deployment = p.deployment and l.plan = p.plan
left join needs as n on l.deployment = n.deployment
group by l.deployment, l.plan
order by l.deployment, cost_usd nulls last, l.plan
