-- grain: one row per counted step: where in the work of the task's agents it stands
-- inputs: task_spans, span_tree, step_rows, step_figures, step_attempts
-- law: A13 of the reference. A line is the nearest wall above (agent or tool) and the sidechain; a round is one call
--      and the tools that start in its line at or after it and before the line's next call. Rounds are numbered
--      per task by the start of their call; a tool with no call before it has none
--   is_root  whether the step stands on the outermost line that has model calls
create or replace temp table step_lines as
with
placed as (
    select
        r.node,
        r.task_id,
        r.kind,
        r.why,
        r.start_ns,
        t.scope,
        t.depth,
        t.step as step_above,
        coalesce(c.agent_name, s.agent_name, a.agent_name) as agent,
        case
            when coalesce(c.agent_id, s.agent_id) is distinct from a.agent_id then coalesce(c.agent_id, s.agent_id)
        end as side,
        coalesce(c.model_requested, s.model_requested, c.model_response, s.model_response) as model
    from step_rows as r
    inner join task_spans as s on r.node = s.node
    inner join span_tree as t on case when r.is_try then r.call else r.node end = t.node
    left join task_spans as a on t.agent = a.node
    left join step_figures as c on r.call = c.node
    where r.counted
),

leveled as (
    select
        *,
        coalesce(scope, 0) as line_scope,
        coalesce(side, '') as line_side,
        depth + (side is not null)::integer as level
    from placed
),

roots as (
    select task_id, min(level) as level
    from leveled
    where kind = 'llm' and why is null
    group by task_id
),

firsts as (
    select a.last, a.task_id, min(s.start_ns) as start_ns, min(a.first_node) as first_node
    from step_attempts as a
    inner join step_rows as s on a.first_node = s.node
    where a.kind = 'llm'
    group by a.last, a.task_id
),

rounds as (
    select last, row_number() over (partition by task_id order by start_ns, first_node) as round
    from firsts
),

calls_of_lines as (
    select l.task_id, l.line_scope, l.line_side, l.start_ns, max(r.round) as round
    from leveled as l
    inner join step_attempts as a on l.node = a.node
    inner join rounds as r on a.last = r.last
    group by l.task_id, l.line_scope, l.line_side, l.start_ns
),

calls_of_scopes as (
    select task_id, line_scope, start_ns, max(round) as round
    from calls_of_lines
    group by task_id, line_scope, start_ns
),

others as (
    select l.node, coalesce(c.round, case when l.line_side = '' then s.round end) as round
    from leveled as l
    asof left join calls_of_lines as c
        on
            l.task_id = c.task_id
            and l.line_scope = c.line_scope
            and l.line_side = c.line_side
            and l.start_ns >= c.start_ns
    asof left join calls_of_scopes as s
        on l.task_id = s.task_id and l.line_scope = s.line_scope and l.start_ns >= s.start_ns
    where l.kind <> 'llm'
)

select
    l.node,
    l.task_id,
    l.scope,
    l.side,
    l.step_above,
    l.agent,
    l.model,
    coalesce(l.level = r.level, false) as is_root,
    coalesce(n.round, o.round) as round
from leveled as l
left join roots as r on l.task_id = r.task_id
left join step_attempts as a on l.node = a.node
left join rounds as n on a.last = n.last
left join others as o on l.node = o.node
