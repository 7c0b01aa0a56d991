-- grain: one row per counted model call or embedding row, tries and roll-ups among them
-- inputs: task_spans, step_rows, calls, tries_with_usage, rollup_usage
-- law: a call has the figures of all its views; a try inside a call only its own tokens, and model and place of the
--      call where it names none; a roll-up only its usage: when and where it was worked is not known
create or replace temp table step_figures as
select
    r.node,
    r.task_id,
    r.kind,
    r.call,
    r.start_ns,
    coalesce(c.gateway_provider, c.provider) as provider,
    c.model_requested,
    c.model_response,
    c.service_tier,
    c.agent_name,
    c.agent_id,
    c.input_tokens,
    c.input_tokens_high,
    c.cache_read_tokens,
    c.cache_write_tokens,
    c.cache_write_1h_tokens,
    c.output_tokens,
    c.reasoning_tokens,
    c.reported_total_tokens,
    c.tool_schema_tokens,
    c.reported_cost_usd,
    c.ttft_ns,
    c.queue_ns,
    c.work_ns,
    c.finish_reason,
    c.messages,
    c.asked_tool,
    c.cached_answer,
    c.deployment,
    c.replica,
    c.addresses,
    c.busy_start_ns,
    greatest(c.busy_end_ns, c.busy_start_ns) as busy_end_ns
from step_rows as r
inner join calls as c on r.node = c.node
where r.why is null and not r.is_try
union all by name
select
    r.node,
    r.task_id,
    r.kind,
    r.call,
    r.start_ns,
    coalesce(s.provider, c.gateway_provider, c.provider) as provider,
    coalesce(s.model_requested, s.model_response, c.model_requested) as model_requested,
    coalesce(s.model_response, s.model_requested, c.model_response) as model_response,
    coalesce(s.service_tier, c.service_tier) as service_tier,
    s.input_tokens,
    s.input_tokens_high,
    s.cache_read_tokens,
    s.cache_write_tokens,
    s.cache_write_1h_tokens,
    s.output_tokens,
    s.reasoning_tokens,
    s.reported_cost_usd,
    s.messages,
    s.cached_answer,
    coalesce(s.deployment, c.deployment) as deployment,
    coalesce(s.replica, c.replica) as replica,
    c.addresses,
    s.start_ns as busy_start_ns,
    s.end_ns as busy_end_ns
from step_rows as r
inner join task_spans as s on r.node = s.node
inner join calls as c on r.call = c.node
where r.why is null and r.is_try
union all by name
select
    r.node,
    r.task_id,
    r.kind,
    r.call,
    r.start_ns,
    s.provider,
    s.model_requested,
    s.model_response,
    s.service_tier,
    u.input_tokens,
    u.cache_read_tokens,
    u.cache_write_tokens,
    u.cache_write_1h_tokens,
    u.output_tokens,
    u.reasoning_tokens,
    s.reported_cost_usd,
    s.cached_answer,
    s.deployment,
    s.replica
from step_rows as r
inner join task_spans as s on r.node = s.node
inner join rollup_usage as u on r.node = u.node
where r.why = 'rollup'
