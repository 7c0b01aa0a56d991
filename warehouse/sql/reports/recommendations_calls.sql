-- grain: counted model call of a closed task
-- inputs: steps, tasks, spans, trace_tasks, token_prices
-- law: what re-costing a call needs: its tokens, and the USD per token that priced it (null where it has none of its
--      own, or is paid by GPU time); input x input_usd and so on give token_cost_usd. outcome is what a user or an
--      evaluation said of the task, null where nobody did; then task_status is all that is known. failed_before: a step
--      of the task, tools included, had failed when the call started
-- params: deployment, agent, model
with said as (
    select
        k.task_id,
        arg_max(s.outcome, (s.end_ns, s.span_id)) as outcome
    from spans as s
    inner join trace_tasks as k on s.trace_id = k.trace_id
    where s.outcome is not null
    group by k.task_id
),

failed as (
    select task_id, min(end_ns) as end_ns
    from steps
    where status = 'error'
    group by task_id
)

select
    s.task_id,
    s.step_id,
    coalesce(t.task_type, t.agent) as task_type,
    t.status as task_status,
    d.outcome,
    coalesce(f.end_ns <= s.start_ns, false) as failed_before,
    t.rounds as task_rounds,
    nullif(t.end_ns - t.start_ns, 0) / 1e9 as task_s,
    s.agent,
    s.name,
    s.thread,
    s.round,
    s.provider,
    s.model,
    s.deployment,
    s.paid_by,
    make_timestamp(t.start_ns // 1000) as task_started_at,
    make_timestamp(s.start_ns // 1000) as started_at,
    make_timestamp(s.end_ns // 1000) as ended_at,
    s.status,
    s.why,
    s.bucket,
    s.asked_tool,
    s.input_tokens,
    s.cache_read_tokens,
    s.cache_write_tokens,
    s.cache_write_1h_tokens,
    s.output_tokens,
    s.reasoning_tokens,
    s.tool_schema_tokens,
    s.resent_tokens,
    s.token_provenance,
    s.token_cost_usd,
    p.input_usd,
    p.cache_read_usd,
    p.cache_write_usd,
    p.cache_write_1h_usd,
    p.output_usd,
    s.price_source,
    s.simulated
from steps as s
inner join tasks as t on s.task_id = t.task_id
left join said as d on s.task_id = d.task_id
left join failed as f on s.task_id = f.task_id
left join token_prices as p on s.price_id = p.price_id and s.price_known_ns = p.known_ns and s.paid_by = 'tokens'
where
    s.counted
    and s.kind = 'llm'
    and t.status <> 'open'
    and s.start_ns >= $since_ns
    and s.start_ns < $until_ns
    and ($deployment is null or s.deployment = $deployment)
    and ($agent is null or s.agent = $agent)
    and ($model is null or s.model = $model)
order by s.task_id, s.start_ns, s.step_id
