-- grain: task x model x who tells a cost (call: the calls themselves; run: the root span, for all of the task)
-- inputs: steps, spans, trace_tasks, task_tokens
-- law: both costs are of the same calls: those that tell one and have ours. reported_calls of calls do tell one; a
--      difference is ours less theirs and is null where one of the two is unknown
-- params: task_id
with
calls as (
    select
        task_id,
        model,
        'call' as told_by,
        count(*) as calls,
        count(reported_cost_usd) as reported_calls,
        sum(reported_cost_usd) filter (where token_cost_usd is not null) as reported_cost_usd,
        sum(token_cost_usd) filter (where reported_cost_usd is not null) as token_cost_usd,
        sum(token_cost_low_usd) filter (where reported_cost_usd is not null) as token_cost_low_usd,
        sum(token_cost_high_usd) filter (where reported_cost_usd is not null) as token_cost_high_usd,
        sum(reported_cost_usd) filter (where token_cost_usd is null) as reported_only_usd,
        list(step_id order by start_ns, step_id) filter (where reported_cost_usd is not null) as step_ids
    from steps
    where
        counted
        and kind in ('llm', 'embedding')
        and paid_by <> 'gpu'
        and start_ns >= $since_ns
        and start_ns < $until_ns
        and ($task_id is null or task_id = $task_id)
    group by task_id, model
    having count(reported_cost_usd) > 0
),

roots as (
    select t.task_id, s.trace_id || '/' || s.span_id || '/' || s.start_ns as step_id, s.reported_cost_usd
    from spans as s
    inner join trace_tasks as t on s.trace_id = t.trace_id
    where
        s.parent_span_id is null
        and s.role in ('agent', 'wrapper')
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
        and ($task_id is null or t.task_id = $task_id)
    qualify
        row_number() over (
            partition by s.trace_id, s.span_id, s.start_ns
            order by s.end_ns desc nulls last, s.filled desc nulls last, s.decoder_version desc, s.row_hash desc
        ) = 1
),

runs as (
    select
        k.task_id,
        null::varchar as model,
        'run' as told_by,
        any_value(k.llm_calls) as calls,
        any_value(k.llm_calls) as reported_calls,
        case when count(k.token_cost_usd) > 0 then sum(r.reported_cost_usd) end as reported_cost_usd,
        any_value(k.token_cost_usd) as token_cost_usd,
        any_value(k.token_cost_low_usd) as token_cost_low_usd,
        any_value(k.token_cost_high_usd) as token_cost_high_usd,
        case when count(k.token_cost_usd) = 0 then sum(r.reported_cost_usd) end as reported_only_usd,
        list(r.step_id order by r.step_id) as step_ids
    from roots as r
    inner join task_tokens as k on r.task_id = k.task_id
    where r.reported_cost_usd is not null
    group by k.task_id
)

select
    task_id,
    model,
    told_by,
    calls,
    reported_calls,
    reported_cost_usd::decimal(38, 12) as reported_cost_usd,
    token_cost_usd::decimal(38, 12) as token_cost_usd,
    token_cost_low_usd::decimal(38, 12) as token_cost_low_usd,
    token_cost_high_usd::decimal(38, 12) as token_cost_high_usd,
    (token_cost_usd - reported_cost_usd)::decimal(38, 12) as difference_usd,
    (token_cost_usd - reported_cost_usd)::double / nullif(reported_cost_usd, 0)::double as difference_ratio,
    -- Told for calls that have no cost of ours: nothing to compare it with.
    reported_only_usd::decimal(38, 12) as reported_only_usd,
    step_ids
from (
    select * from calls
    union all
    select * from runs
)
order by abs(difference_usd) desc nulls last, task_id, told_by, model
