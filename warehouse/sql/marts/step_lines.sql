-- grain: one row per counted step: where in the work of the task's agents it stands
-- inputs: task_spans, span_tree, step_rows, step_figures, step_attempts
-- law: A line is the nearest wall above (agent or tool) and the sidechain; a round is one call
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

-- A later call of a line has a higher number, so the highest so far is the latest.
numbered as (
    select
        l.node,
        coalesce(
            n.round,
            max(n.round) over (
                partition by l.task_id, l.line_scope, l.line_side order by l.start_ns range unbounded preceding
            ),
            case
                when l.line_side = ''
                    then max(n.round) over (
                        partition by l.task_id, l.line_scope order by l.start_ns range unbounded preceding
                    )
            end
        ) as round
    from leveled as l
    left join step_attempts as a on l.node = a.node
    left join rounds as n on a.last = n.last
)

select
    l.node,
    l.task_id,
    l.scope,
    l.side,
    l.agent,
    l.model,
    coalesce(l.level = r.level, false) as is_root,
    case when l.kind in ('tool', 'retrieval') or l.kind = 'llm' and l.why is null then n.round end as round
from leveled as l
inner join numbered as n on l.node = n.node
left join roots as r on l.task_id = r.task_id
