-- grain: task type
-- inputs: tasks, steps
-- law: percentiles are of tasks, unweighted; tasks whose calls are not known are counted in tasks alone
with
chosen as (
    select *, coalesce(task_type, agent) as profile
    from tasks
    where start_ns >= $since_ns and start_ns < $until_ns
),

edges as (
    select c.profile, s.start_ns as t_ns, 1 as change
    from steps as s
    inner join chosen as c on s.task_id = c.task_id
    where s.counted and s.kind = 'llm' and s.is_leaf and s.end_ns > s.start_ns
    union all
    select c.profile, s.end_ns, -1
    from steps as s
    inner join chosen as c on s.task_id = c.task_id
    where s.counted and s.kind = 'llm' and s.is_leaf and s.end_ns > s.start_ns
),

concurrency as (
    select profile, max(in_flight) as peak_concurrency
    from (
        select
            profile,
            sum(change) over (partition by profile order by t_ns, change rows unbounded preceding) as in_flight
        from edges
    )
    group by profile
)

select
    c.profile as task_type,
    count(*) as tasks,
    count(c.llm_calls) as tasks_known,
    avg(c.llm_calls) as calls_mean,
    quantile_disc(c.llm_calls, 0.5) as calls_p50,
    quantile_disc(c.llm_calls, 0.95) as calls_p95,
    max(c.llm_calls) as calls_max,
    avg(c.rounds) as rounds_mean,
    quantile_disc(c.rounds, 0.5) as rounds_p50,
    quantile_disc(c.rounds, 0.95) as rounds_p95,
    max(c.rounds) as rounds_max,
    avg(c.tool_calls) as tool_calls_mean,
    sum(c.total_tokens)::bigint as total_tokens,
    sum(c.total_tokens) filter (where c.rounds > 0) / nullif(sum(c.rounds) filter (where c.total_tokens is not null), 0)
        as tokens_per_round,
    quantile_cont(nullif(c.end_ns - c.start_ns, 0) / 1e9, 0.5) as duration_p50_s,
    quantile_cont(nullif(c.end_ns - c.start_ns, 0) / 1e9, 0.95) as duration_p95_s,
    coalesce(any_value(k.peak_concurrency), 0)::bigint as peak_concurrency,
    bool_or(c.simulated) as simulated
from chosen as c
left join concurrency as k on c.profile is not distinct from k.profile
group by c.profile
order by total_tokens desc nulls last, task_type
