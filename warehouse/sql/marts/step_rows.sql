-- grain: one row per span that could be a step, and whether it is one
-- inputs: task_spans, span_tree, call_views, calls, call_tries, tries_with_usage, tool_calls, rollup_usage
-- law: every counted token, call and tool call of a task is in exactly one row with counted
--   call  the span that counts for this one; of a counted row the row itself
create or replace temp table step_rows as
with
served as (
    select
        v.node,
        v.serves as kind,
        v.call,
        case
            when t.node is not null then null
            when v.is_rollup and u.counts then 'rollup'
            when v.is_rollup then 'sums up the calls below it'
            when v.node <> v.call then 'another view of a call that counts'
        end as why,
        t.node is not null as is_try
    from call_views as v
    left join tries_with_usage as t on v.node = t.node
    left join rollup_usage as u on v.node = u.node
),

rows_of_steps as (
    select node, kind, call, why, is_try from served
    union all
    select
        s.node,
        'llm',
        coalesce(w.call, v.call, s.node),
        case when w.node is null then 'a try without tokens of its own' end,
        w.node is not null
    from task_spans as s
    inner join span_tree as t on s.node = t.node
    left join tries_with_usage as w on s.node = w.node
    left join call_views as v on t.anchor = v.node
    where (s.role = 'attempt' or w.node is not null) and s.node not in (select i.node from served as i)
    union all
    select node, 'tool', call, case when node <> call then 'another view of a tool call that counts' end, false
    from tool_calls
    union all
    select node, 'retrieval', node, null, false
    from task_spans
    where role = 'retrieval'
    union all
    select u.node, 'llm', u.node, 'rollup', false
    from rollup_usage as u
    where u.counts and u.node not in (select i.node from served as i)
)

select
    r.node,
    s.task_id,
    r.kind,
    r.call,
    r.is_try,
    r.why,
    r.why is null or r.why = 'rollup' as counted,
    s.status = 'error' as failed,
    s.start_ns,
    s.end_ns
from rows_of_steps as r
inner join task_spans as s on r.node = s.node
