-- grain: one row per tool span, with the tool call that it is a view of and the call's own work
-- inputs: task_spans, span_tree
-- law: A tool in a tool is one call only if the call ids agree, or the names do where no ids
--      differ and the outer one runs no agent of its own; the outermost counts. Work is the innermost figure
--      that measures it: an execution span, else what a view says, else the whole time less the waits for a
--      person; null where only the whole time is known
create or replace temp table tool_calls as
with recursive
tools as (
    select
        t.node,
        t.tool as above,
        t.height,
        s.tool_name,
        s.tool_call_id,
        t.node in (
            select i.scope from span_tree as i
            inner join task_spans as r on i.node = r.node
            where i.scope is not null and (i.serves is not null or r.role = 'agent')
        ) as runs_agent
    from span_tree as t
    inner join task_spans as s on t.node = s.node
    where s.role = 'tool'
),

lines (node, above) as (
    select node, above from tools
    where above is not null
    union all
    select l.node, o.above
    from lines as l
    inner join tools as o on l.above = o.node
    where o.above is not null
),

-- The nearest tool above that is the same call, past views that tell less.
same as (
    select i.node, arg_max(o.node, o.height) as above
    from lines as l
    inner join tools as i on l.node = i.node
    inner join tools as o on l.above = o.node
    where
        i.tool_call_id = o.tool_call_id
        or (
            i.tool_name = o.tool_name
            and not o.runs_agent
            and coalesce(i.tool_call_id = o.tool_call_id, true)
        )
    group by i.node
),

rooted (node, call) as (
    select node, node from tools
    where node not in (select s.node from same as s)
    union all
    select s.node, r.call
    from rooted as r
    inner join same as s on r.node = s.above
),

inners as (
    select
        r.call,
        t.height,
        coalesce(s.work_ns, case when s.operation = 'tool_execution' then s.end_ns - s.start_ns end) as work_ns,
        case when s.operation = 'blocked_on_user' then s.end_ns - s.start_ns end as person_ns
    from rooted as r
    inner join span_tree as t on r.node = t.tool
    inner join task_spans as s on t.node = s.node
    where s.role = 'inner'
    union all
    select r.call, t.height, s.work_ns, null
    from rooted as r
    inner join span_tree as t on r.node = t.node
    inner join task_spans as s on r.node = s.node
),

told as (
    select
        i.call,
        arg_max(i.work_ns, i.height) as work_ns,
        sum(i.person_ns) as person_ns
    from inners as i
    group by i.call
)

select
    r.node,
    r.call,
    coalesce(
        t.work_ns, case when t.person_ns is not null then greatest(s.end_ns - s.start_ns - t.person_ns, 0) end
    )::bigint as work_ns,
    t.person_ns is not null as waits_for_person
from rooted as r
inner join task_spans as s on r.call = s.node
inner join told as t on r.call = t.call
