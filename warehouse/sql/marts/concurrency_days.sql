-- grain: day x deployment whose settings tell no concurrency
-- inputs: concurrency_days_before, dirty_quarters, ledger_pools, steps
-- law: 99 % of the time with steps in flight on the day before had at most so many per replica
insert into concurrency_days
with days as (
    select distinct quarter_ns // 86400000000000 * 86400000000000 as day_ns from dirty_quarters
),

missing as (
    select days.day_ns, ledger_pools.pool, ledger_pools.deployment, ledger_pools.replicas
    from days, ledger_pools
    where ledger_pools.deployment is not null and ledger_pools.concurrency is null
    and not exists (
        select 1
        from concurrency_days_before as known
        where known.day_ns = days.day_ns and known.deployment = ledger_pools.deployment
    )
),

pieces as (
    select
        missing.day_ns,
        missing.deployment,
        missing.replicas,
        greatest(steps.busy_start_ns, missing.day_ns - 86400000000000) as from_ns,
        least(steps.busy_end_ns, missing.day_ns) as to_ns
    from missing
    inner join steps on steps.deployment = missing.deployment
    where
        steps.counted
        and steps.is_leaf
        and steps.busy_start_ns < steps.busy_end_ns
        and steps.busy_start_ns < missing.day_ns
        and steps.busy_end_ns > missing.day_ns - 86400000000000
),

running as (
    select
        day_ns,
        deployment,
        replicas,
        lead(t_ns) over boundary - t_ns as length_ns,
        sum(sign) over boundary as in_flight
    from (
        select day_ns, deployment, replicas, unnest([from_ns, to_ns]) as t_ns, unnest([1, -1]) as sign from pieces
    ) as edges
    window boundary as (partition by day_ns, deployment order by t_ns rows unbounded preceding)
),

levels as (
    select day_ns, deployment, ((in_flight + replicas - 1) // replicas)::integer as level, sum(length_ns) as length_ns
    from running
    where in_flight > 0 and length_ns > 0
    group by day_ns, deployment, level
),

shares as (
    select
        day_ns,
        deployment,
        level,
        100 * sum(length_ns) over (partition by day_ns, deployment order by level) as up_to,
        sum(length_ns) over (partition by day_ns, deployment) as total
    from levels
)

select day_ns, deployment, concurrency from concurrency_days_before
union all
select day_ns, deployment, min(level)
from shares
where up_to >= 99 * total
group by day_ns, deployment
