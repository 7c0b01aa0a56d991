-- grain: one row per call: a model call or embedding as one, whatever number of spans show it
-- inputs: task_spans, span_tree, call_views, tries_with_usage
-- law: a field is the outermost view's that has it, else the next one's below; a gateway that passed the call on
--      knows provider and cost best. The deployment was busy while the innermost view ran, an engine's own span
--      less its queue before all others. A failed view of a call that was answered fills nothing.
--      When a call that tells no duration was worked is not known
create or replace temp table calls as
with
views as (
    select v.call, v.node, v.rank, v.serves, v.failed
    from call_views as v
    where not v.is_rollup
    union all
    select v.call, t.node, t.height + case when v.rank >= 10000 then 10000 else 0 end, v.serves, s.status = 'error'
    from span_tree as t
    inner join task_spans as s on t.node = s.node
    inner join call_views as v on t.anchor = v.node and not v.is_rollup
    where s.role in ('gateway', 'server', 'transport', 'inner') and t.serves is null
),

speaking as (
    select v.call, v.node, v.serves, v.rank * 1000000000 + row_number() over (order by v.node) as rank
    from views as v
    inner join task_spans as s on v.call = s.node
    where
        (v.node = v.call or not v.failed or s.status = 'error')
        and v.node not in (select t.node from tries_with_usage as t)
)

select
    v.call as node,
    any_value(v.serves) as kind,
    arg_min(s.provider, v.rank) as provider,
    arg_max(s.provider, v.rank) filter (where s.role = 'gateway') as gateway_provider,
    arg_min(s.model_requested, v.rank) as model_requested,
    arg_min(s.model_response, v.rank) as model_response,
    arg_min(s.service_tier, v.rank) as service_tier,
    arg_min(s.agent_name, v.rank) as agent_name,
    arg_min(s.agent_id, v.rank) as agent_id,
    arg_min(s.input_tokens, v.rank) as input_tokens,
    arg_min(s.input_tokens_high, v.rank) as input_tokens_high,
    arg_min(s.cache_read_tokens, v.rank) as cache_read_tokens,
    arg_min(s.cache_write_tokens, v.rank) as cache_write_tokens,
    arg_min(s.cache_write_1h_tokens, v.rank) as cache_write_1h_tokens,
    -- Of views side by side the largest: chunks of a stream tell what was said so far.
    arg_min(s.output_tokens, (v.rank // 1000000000, -s.output_tokens)) as output_tokens,
    arg_min(s.reasoning_tokens, v.rank) as reasoning_tokens,
    arg_min(s.total_tokens, v.rank) as reported_total_tokens,
    arg_min(s.tool_schema_tokens, v.rank) as tool_schema_tokens,
    coalesce(
        arg_max(s.reported_cost_usd, v.rank) filter (where s.role = 'gateway'), arg_min(s.reported_cost_usd, v.rank)
    ) as reported_cost_usd,
    arg_min(s.ttft_ns, v.rank) as ttft_ns,
    arg_min(s.queue_ns, v.rank) as queue_ns,
    arg_min(s.work_ns, v.rank) as work_ns,
    arg_min(s.finish_reason, v.rank) as finish_reason,
    arg_min(s.messages, v.rank) as messages,
    bool_or(s.asked_tool) as asked_tool,
    bool_or(s.cached_answer) as cached_answer,
    arg_max(s.deployment, v.rank) as deployment,
    arg_max(s.replica, v.rank) as replica,
    list(s.server_address || ':' || s.server_port order by v.rank desc)
        filter (where s.server_address is not null and s.server_port is not null) as addresses,
    coalesce(
        arg_max(s.start_ns + coalesce(s.queue_ns, 0), v.rank) filter (where s.role = 'server'),
        arg_max(s.start_ns, v.rank) filter (where s.role in ('llm', 'embedding', 'gateway') and not s.is_untimed)
        + coalesce(arg_min(s.queue_ns, v.rank), 0)
    ) as busy_start_ns,
    coalesce(
        arg_max(s.end_ns, v.rank) filter (where s.role = 'server'),
        arg_max(s.end_ns, v.rank) filter (where s.role in ('llm', 'embedding', 'gateway') and not s.is_untimed)
    ) as busy_end_ns,
    bool_or(s.simulated) as simulated
from speaking as v
inner join task_spans as s on v.node = s.node
group by v.call
