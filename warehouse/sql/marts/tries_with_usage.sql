-- grain: one row per failed or given-up try that tells its own tokens and stands inside the call that was answered
-- inputs: task_spans, span_tree, call_views
-- law: such tokens were worked or billed, and the call's own figure does not hold them.
--      They are attempt spans that failed, failed inner requests, and engine spans that another engine span followed
create or replace temp table tries_with_usage as
with
parts as (
    select
        s.node,
        s.role,
        v.call,
        a.status = 'error' as above_failed,
        c.status = 'error' as call_failed,
        s.status = 'error' as failed,
        s.start_ns,
        greatest(s.end_ns, s.start_ns + 1) as end_ns,
        s.has_usage,
        s.input_tokens is not distinct from c.input_tokens
        and s.output_tokens is not distinct from c.output_tokens as repeats
    from span_tree as t
    inner join task_spans as s on t.node = s.node
    inner join task_spans as a on t.anchor = a.node
    inner join call_views as v on t.anchor = v.node and not v.is_rollup
    inner join task_spans as c on v.call = c.node
    where s.role in ('attempt', 'llm', 'embedding', 'gateway', 'server') and s.has_usage
),

engines as (
    select call, max(start_ns) as last_start_ns
    from parts
    where role = 'server'
    group by call
)

select p.node, p.call
from parts as p
left join engines as e on p.call = e.call
where
    case
        when p.role = 'attempt' then p.failed or not p.repeats
        when p.role = 'server' then p.end_ns <= e.last_start_ns
        else p.failed and not p.above_failed and not p.call_failed
    end
