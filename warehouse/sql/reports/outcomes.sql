-- grain: task type x signal of success
-- inputs: tasks, spans, trace_tasks
-- law: the signal is what the user or an evaluation said of the task (the latest, where several did), else its status:
--      ok is then a success that nobody checked. Tasks that are open, interrupted or said neither are unknown. The cost of
--      failures and unknown tasks is charged to the successes: cost_per_success = cost of all / successes, null where
--      none succeeded or a cost is unknown
with
said as (
    select
        t.task_id,
        arg_max(s.outcome, (s.end_ns, s.span_id)) as outcome
    from spans as s
    inner join trace_tasks as t on s.trace_id = t.trace_id
    where s.outcome is not null
    group by t.task_id
),

judged as (
    select
        coalesce(k.task_type, k.agent) as task_type,
        case when s.task_id is not null then 'said' else 'status' end as signal,
        case
            when s.outcome is not null then s.outcome
            when k.status = 'ok' then 'success'
            when k.status = 'error' then 'failure'
        end as outcome,
        k.total_cost_usd,
        k.total_tokens,
        k.simulated
    from tasks as k
    left join said as s on k.task_id = s.task_id
    where k.start_ns >= $since_ns and k.start_ns < $until_ns
)

select
    task_type,
    signal,
    count(*) as tasks,
    count(*) filter (where outcome = 'success') as successes,
    count(*) filter (where outcome = 'failure') as failures,
    count(*) filter (where outcome is null) as unknown,
    sum(total_cost_usd)::decimal(38, 12) as cost_usd,
    sum(total_cost_usd) filter (where outcome = 'failure')::decimal(38, 12) as failed_cost_usd,
    count(*) filter (where total_cost_usd is null) as unknown_costs,
    case
        when count(*) = count(total_cost_usd)
            then
                (
                    (sum(total_cost_usd) * 1000000000000)::hugeint
                    // nullif(count(*) filter (where outcome = 'success'), 0)
                )::decimal(26, 0)
                * 0.000000000001::decimal(12, 12)
    end as cost_per_success_usd,
    sum(total_tokens)::bigint as total_tokens,
    bool_or(simulated) as simulated
from judged
group by task_type, signal
order by cost_usd desc nulls last, task_type, signal
