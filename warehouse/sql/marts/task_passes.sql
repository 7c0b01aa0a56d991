-- grain: one row per task that has model calls: its first prompt and its answer
-- inputs: step_lines, step_figures, step_rows, step_attempts, task_spans
-- law: first is the task's first counted attempt that was not tried again. answer is the last attempt of the root
--      line's last agent, if it asked for no tool and was not cut. A model whose first prompt in an agent
--      is less than half of another's there (titles, quota checks) is beside the agent's work: neither is its
create or replace temp table task_passes as
with
attempts as (
    select
        r.node,
        r.task_id,
        l.is_root,
        l.round,
        coalesce(l.scope, 0) as scope,
        coalesce(l.side, '') as side,
        coalesce(l.model, '') as model,
        a.is_last,
        a.last,
        r.failed,
        f.input_tokens,
        f.output_tokens,
        f.reasoning_tokens,
        f.finish_reason,
        f.asked_tool
    from step_rows as r
    inner join step_lines as l on r.node = l.node
    inner join step_attempts as a on r.node = a.node
    inner join step_figures as f on r.node = f.node
    where r.kind = 'llm' and not r.is_try
),

openings as (
    select task_id, scope, side, model, arg_min(input_tokens, node) as input_tokens
    from attempts
    group by task_id, scope, side, model
),

beside as (
    select task_id, scope, side, model
    from openings
    qualify input_tokens * 2 < max(input_tokens) over (partition by task_id, scope, side)
),

main as (
    select a.*
    from attempts as a
    anti join beside as b
        on a.task_id = b.task_id and a.scope = b.scope and a.side = b.side and a.model = b.model
),

firsts as (
    select task_id, min(node) as first_node
    from main
    where is_last and not failed
    group by task_id
),

lasts as (
    select task_id, max(node) as last_node
    from main
    where is_root
    group by task_id
),

asked as (
    select distinct l.task_id, l.round
    from step_lines as l
    inner join step_rows as r on l.node = r.node
    where r.kind = 'tool'
),

answers as (
    select m.task_id, m.node as answer_node
    from lasts as z
    inner join main as m on z.last_node = m.node
    left join asked as q on m.task_id = q.task_id and m.round = q.round
    where
        not m.failed
        and m.output_tokens is not null
        and coalesce(m.finish_reason, '') not in ('length', 'content_filter', 'error', 'tool_calls')
        and not coalesce(m.asked_tool, false)
        and q.round is null
),

counts as (
    select task_id, count(distinct last) as calls
    from attempts
    group by task_id
)

select c.task_id, c.calls, f.first_node, a.answer_node
from counts as c
left join firsts as f on c.task_id = f.task_id
left join answers as a on c.task_id = a.task_id
