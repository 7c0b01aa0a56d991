-- grain: deployment with GPUs that were held in the range
-- inputs: gpu_timeline, gpus, gpu_rates, task_tokens, steps, setting
-- law: replicas are those still held at the end of the range: what was released cannot be released again. most_needed is how many replicas at once ever served, waited for an open task, started, or were busy for
-- someone unknown; coverage_ratio is the share of held GPU time that is not unknown. The price is the lowest of a
-- replica's as of the end, so that a saving is never overstated
with stretches as (
    select
        deployment,
        replica,
        gpu_id,
        state,
        greatest(from_ns, $since_ns) as from_ns,
        least(to_ns, $until_ns) as to_ns
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
        min(from_ns) as from_ns,
        max(to_ns) as until_ns,
        coalesce(sum(to_ns - from_ns) filter (where state != 'unknown'), 0)::double / sum(to_ns - from_ns)
            as coverage_ratio
    from stretches
    group by deployment
),

edges as (
    select deployment, replica, from_ns as t_ns, 1 as sign
    from stretches
    where state in ('serving', 'tool_wait', 'between_steps', 'cold_start', 'unattributed')
    union all
    select deployment, replica, to_ns, -1
    from stretches
    where state in ('serving', 'tool_wait', 'between_steps', 'cold_start', 'unattributed')
),

-- the GPUs of one replica are in one state, so a replica is needed while any of its GPUs is
replicas_running as (
    select
        deployment,
        replica,
        t_ns,
        sum(sum(sign)) over (partition by deployment, replica order by t_ns) > 0 as is_needed
    from edges
    group by deployment, replica, t_ns
),

changes as (
    select
        deployment,
        t_ns,
        is_needed::integer
        - coalesce(lag(is_needed) over (partition by deployment, replica order by t_ns), false)::integer as change
    from replicas_running
),

needed as (
    select deployment, max(at_once) as most_needed
    from (
        select deployment, sum(sum(change)) over (partition by deployment order by t_ns) as at_once
        from changes
        group by deployment, t_ns
    )
    group by deployment
),

-- still held: seen within released_after of the end of the range, or of the newest data if that is earlier
held_at_end as (
    select distinct stretches.deployment, stretches.replica
    from stretches, setting
    where
        stretches.to_ns
        > least($until_ns, (select max(newest.to_ns) from stretches as newest)) - setting.released_after_ns
),

prices as (
    select deployment, min(usd) as usd, bool_and(is_priced) as is_priced
    from (
        select
            gpus.deployment,
            gpus.replica,
            sum(gpu_rates.usd_per_hour) as usd,
            bool_and(gpu_rates.usd_per_hour is not null) as is_priced
        from gpus
        inner join known on known.deployment = gpus.deployment
        inner join held_at_end
            on held_at_end.deployment = gpus.deployment and held_at_end.replica = gpus.replica
        left join gpu_rates
            on gpu_rates.gpu_id = gpus.gpu_id
            and gpu_rates.from_ns <= known.until_ns
            and gpu_rates.to_ns > known.until_ns
        group by gpus.deployment, gpus.replica
    )
    group by deployment
),

sizes as (
    select known.deployment, count(held_at_end.replica) as replicas
    from known
    left join held_at_end on held_at_end.deployment = known.deployment
    group by known.deployment
),

open_tasks as (
    select steps.deployment, count(distinct steps.task_id) as open_tasks
    from steps
    inner join task_tokens on task_tokens.task_id = steps.task_id
    where task_tokens.is_open and task_tokens.start_ns < $until_ns
    group by steps.deployment
)

select
    known.deployment,
    sizes.replicas,
    coalesce(needed.most_needed, 0)::bigint as most_needed,
    greatest(sizes.replicas - coalesce(needed.most_needed, 0), 0)::bigint as never_needed,
    case when prices.is_priced then prices.usd::decimal(38, 12) end as usd_per_replica_hour,
    make_timestamp(known.from_ns // 1000) as from_at,
    make_timestamp(known.until_ns // 1000) as until_at,
    known.coverage_ratio,
    coalesce(open_tasks.open_tasks, 0) as open_tasks -- their last waits are not known yet
from known
inner join sizes on sizes.deployment = known.deployment
left join needed on needed.deployment = known.deployment
left join prices on prices.deployment = known.deployment
left join open_tasks on open_tasks.deployment = known.deployment
order by known.deployment
