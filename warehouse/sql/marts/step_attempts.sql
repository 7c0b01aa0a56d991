-- grain: one row per counted model call or embedding row that is not a roll-up: which call it is a try of
-- inputs: task_spans, step_rows, call_tries
-- law: a failed call and the next counted step under its parent are one call, if that is of the same kind and its
--      content is not known to differ. attempts sums over a call to the strongest signal
--      of tries; tries that no row stands for are added to the last row
create or replace temp table step_attempts as
with recursive
siblings as (
    select
        s.trace_id,
        coalesce(s.parent_span_id, '') as parent,
        s.start_ns,
        min(r.node) as node
    from step_rows as r
    inner join task_spans as s on r.node = s.node
    where r.counted and not r.is_try
    group by s.trace_id, coalesce(s.parent_span_id, ''), s.start_ns
),

failed as (
    select
        r.node,
        r.kind,
        s.trace_id,
        coalesce(s.parent_span_id, '') as parent,
        s.input_hash,
        greatest(s.end_ns, s.start_ns + 1) as end_ns
    from step_rows as r
    inner join task_spans as s on r.node = s.node
    where r.why is null and not r.is_try and r.failed and r.kind in ('llm', 'embedding')
),

followed as (
    select f.node, n.node as next
    from failed as f
    asof inner join siblings as n on f.trace_id = n.trace_id and f.parent = n.parent and f.end_ns <= n.start_ns
    inner join step_rows as r on n.node = r.node
    inner join task_spans as s on n.node = s.node
    where r.kind = f.kind and r.why is null and coalesce(s.input_hash = f.input_hash, true)
),

ends (node, last) using key (node) as (
    select node, next from followed
    union
    select e.node, f.last
    from recurring.ends as e
    inner join recurring.ends as f on e.last = f.node
),

tries as (
    select
        r.node,
        r.task_id,
        r.kind,
        r.is_try,
        coalesce(e.last, r.call) as last,
        r.call,
        c.start_ns as call_start_ns
    from step_rows as r
    inner join task_spans as c on r.call = c.node
    left join ends as e on r.call = e.node
    where r.why is null and r.kind in ('llm', 'embedding')
),

numbered as (
    select
        t.*,
        row_number() over (partition by t.last order by t.call_start_ns, t.call, t.is_try desc, t.node) as attempt,
        count(*) over (partition by t.last) as attempt_rows,
        max(k.tries) over (partition by t.last) as told,
        first_value(t.node) over (
            partition by t.last order by t.call_start_ns, t.call, t.is_try desc, t.node
        ) as first_node
    from tries as t
    left join call_tries as k on t.call = k.call
)

select
    node,
    task_id,
    kind,
    last,
    first_node,
    attempt,
    node = last as is_last,
    case when node = last then greatest(coalesce(told, 1) - attempt_rows, 0) + 1 else 1 end as attempts
from numbered
