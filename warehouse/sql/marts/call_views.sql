-- grain: one row per span that acts as a model call (or embedding), with the call that it is a view of
-- inputs: task_spans, span_tree
-- law: A call below a call is the same call; a call above two or more that do not overlap, or
--      that answer under different ids, is their roll-up. Of one call the outermost counts. Spans of one task
--      with one response id and overlapping times are one call wherever they hang: the earliest, longest counts
create or replace temp table call_views as
with recursive
serving as (
    select
        t.node,
        s.task_id,
        case when t.anchor_serves = t.serves then t.anchor end as above,
        t.height,
        t.serves,
        s.status = 'error' as failed,
        s.start_ns,
        greatest(s.end_ns, s.start_ns + 1) as end_ns,
        s.response_id,
        s.input_tokens
    from span_tree as t
    inner join task_spans as s on t.node = s.node
    where t.serves is not null
),

lines (node, above) as (
    select node, above from serving
    where above is not null
    union all
    select l.node, s.above
    from lines as l
    inner join serving as s on l.above = s.node
    where s.above is not null
),

rollups as (
    select l.above as node
    from lines as l
    inner join serving as s on l.node = s.node
    where not s.failed and l.node not in (select i.above from serving as i where i.above is not null)
    group by l.above
    having
        count(*) > 1
        and (min(s.end_ns) <= max(s.start_ns) or count(distinct s.response_id) > 1)
        -- Chunks of one answer tell one id and one prompt.
        and not (
            count(s.response_id) = count(*) and count(distinct s.response_id) = 1 and count(distinct s.input_tokens) = 1
        )
),

tops as (
    select l.node, min(l.above) as top
    from (
        select l.node, arg_min(l.above, s.height) over (partition by l.node) as above
        from lines as l
        inner join serving as s on l.above = s.node
        where l.above not in (select r.node from rollups as r)
    ) as l
    group by l.node
),

rooted as (
    select s.*, coalesce(t.top, s.node) as top, s.node in (select r.node from rollups as r) as is_rollup
    from serving as s
    left join tops as t on s.node = t.node
),

-- Twins: the tops of calls that answer under one id at overlapping times.
runs as (
    select
        node,
        task_id,
        response_id,
        serves,
        start_ns,
        end_ns,
        coalesce(
            start_ns >= max(end_ns) over (
                partition by task_id, serves, response_id
                order by start_ns, end_ns desc, node rows between unbounded preceding and 1 preceding
            ),
            true
        ) as opens
    from rooted
    where node = top and not is_rollup and not failed and response_id is not null
),

islands as (
    select
        node,
        task_id,
        serves,
        response_id,
        count(*) filter (where opens) over (
            partition by task_id, serves, response_id order by start_ns, end_ns desc, node
        ) as island,
        start_ns,
        end_ns
    from runs
),

twins as (
    select
        node,
        first_value(node) over (
            partition by task_id, serves, response_id, island order by start_ns, end_ns desc, node
        ) as leader
    from islands
)

select
    r.node,
    r.task_id,
    r.serves,
    r.is_rollup,
    r.failed,
    coalesce(w.leader, r.top) as call,
    -- Nearness to the user: the outermost view speaks first, twins after the call that counts.
    r.height + case when w.leader <> r.top then 10000 else 0 end as rank
from rooted as r
left join twins as w on r.top = w.node
