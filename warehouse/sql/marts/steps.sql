-- grain: one row per span that could be a step
-- inputs: task_spans, span_tree, step_rows, step_figures, step_attempts, step_lines, step_deployments, step_costs,
--         step_resent, step_loops, tool_calls
-- law: a step is a counted row; each attempt goes whole to retried or loop, or its bucket is null and it is split
insert into steps by name
with
rounds as (
    select l.task_id, l.round, bool_and(p.node is not null) as is_loop
    from step_lines as l
    inner join step_rows as r on l.node = r.node
    left join step_loops as p on l.node = p.node
    where r.kind = 'tool' and l.round is not null
    group by l.task_id, l.round
),

-- The row that counts for the nearest span above that could be a step.
parents as (
    select r.node, p.call as parent
    from step_rows as r
    inner join span_tree as t on case when r.is_try then r.node else r.call end = t.node
    inner join step_rows as p on t.step = p.node
),

-- What a step runs itself: a tool whatever stands below it; a model call only calls below it, for the tools that a
-- provider runs inside a call leave it in flight.
trunks as (
    select v.parent as node
    from parents as v
    inner join step_rows as r on v.node = r.node and r.node = r.call and not r.is_try
    inner join step_rows as p on v.parent = p.node
    where
        p.kind in ('tool', 'retrieval')
        or r.kind in ('llm', 'embedding')
        or r.node in (select i.parent from parents as i)
    group by v.parent
),

pieces as (
    select
        r.*,
        s.step_id,
        s.trace_id,
        s.span_id,
        s.name,
        s.tool_name,
        s.error_type,
        s.status,
        s.args_hash,
        s.payload_bytes,
        s.args_shape_hash,
        s.result_hash,
        s.tool_schema_provenance,
        s.is_untimed,
        s.simulated
    from step_rows as r
    inner join task_spans as s on r.node = s.node
)

select
    p.task_id,
    p.step_id,
    p.trace_id,
    p.span_id,
    up.step_id as parent_step_id,
    case
        when p.counted then coalesce(fs.step_id, p.step_id)
        else coalesce(cs.step_id, p.step_id)
    end as call_id,
    p.start_ns,
    p.end_ns,
    case when p.counted then f.busy_start_ns end as busy_start_ns,
    case when p.counted then f.busy_end_ns end as busy_end_ns,
    p.kind,
    p.name,
    p.tool_name,
    l.agent,
    h.thread,
    l.round,
    f.provider,
    coalesce(f.model_response, f.model_requested) as model,
    f.service_tier,
    d.deployment,
    d.replica,
    case
        when not p.counted then null
        when p.kind in ('tool', 'retrieval') then 'nothing'
        else c.paid_by
    end as paid_by,
    p.status,
    p.error_type,
    coalesce(a.attempt, 1) as attempt,
    coalesce(a.attempts, 1) as attempts,
    p.counted,
    p.why,
    p.counted and not p.is_try and p.why is null and b.node is null as is_leaf,
    coalesce(o.waits_for_person and p.counted, false) as waits_for_person,
    case
        when a.node is not null and not a.is_last then 'retried'
        when a.node is not null and p.kind = 'llm' and u.is_loop then 'loop'
        when p.counted and g.node is not null then 'loop'
    end as bucket,
    f.input_tokens,
    f.input_tokens_high,
    f.cache_read_tokens,
    f.cache_write_tokens,
    f.cache_write_1h_tokens,
    f.output_tokens,
    f.reasoning_tokens,
    f.tool_schema_tokens,
    h.resent_tokens,
    case
        when f.input_tokens is null and f.output_tokens is null then 'unknown'
        when p.simulated then 'simulated'
        else 'reported'
    end as token_provenance,
    f.ttft_ns,
    f.queue_ns,
    case when p.kind = 'tool' then o.work_ns else f.work_ns end as work_ns,
    f.finish_reason,
    f.asked_tool,
    p.args_hash,
    p.payload_bytes,
    p.args_shape_hash,
    p.result_hash,
    c.cost_usd as token_cost_usd,
    c.low_usd as token_cost_low_usd,
    c.high_usd as token_cost_high_usd,
    f.reported_cost_usd,
    c.source as price_source,
    c.known_ns as price_known_ns,
    c.price_id,
    p.is_untimed,
    p.simulated
from pieces as p
left join step_figures as f on p.node = f.node
left join step_attempts as a on p.node = a.node
left join task_spans as fs on a.first_node = fs.node
left join task_spans as cs on p.call = cs.node
left join parents as v on p.node = v.node
left join task_spans as up on v.parent = up.node
left join step_lines as l on p.node = l.node
left join rounds as u on p.task_id = u.task_id and l.round = u.round
left join step_deployments as d on p.node = d.node
left join step_costs as c on p.node = c.node
left join step_resent as h on p.node = h.node
left join tool_calls as o on p.node = o.node
left join trunks as b on p.node = b.node
left join step_loops as g on p.node = g.node
