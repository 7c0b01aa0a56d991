-- grain: one row per span of a touched task, with its place in the tree
-- inputs: task_spans
-- law: parents are found by id, of several starts the latest at or before the child's; a span whose parent is
--      missing, or that is its own ancestor, stands at the top. Agents, tools and retrievals are walls: what a
--      model call below them does is not part of a model call above them
--   anchor  nearest model call (or embedding) above, with no wall between: this span may be a view of it
--   serves  kind of step a span acts as: llm or embedding, engines and gateways only without a call above
--   scope   nearest wall above, depth the number of walls; agent the nearest agent above
--   tool    nearest tool above, with no agent and no model call between
--   step    nearest span above that could be a step; usage the nearest one above that carries usage
create or replace temp table span_tree as
with recursive
parents as (
    select
        c.node,
        arg_max(p.node, case when p.start_ns <= c.start_ns then p.start_ns else -p.start_ns end) as parent
    from task_spans as c
    inner join task_spans as p on c.trace_id = p.trace_id and c.parent_span_id = p.span_id and c.node <> p.node
    group by c.node
),

known as (
    select
        s.node,
        p.parent,
        s.role,
        case
            when s.role in ('llm', 'embedding') then s.role
            when
                s.role in ('gateway', 'server')
                and (s.has_usage or s.model_requested is not null or s.model_response is not null)
                then case when s.operation ilike '%embed%' then 'embedding' else 'llm' end
        end as could_serve,
        s.has_usage
    from task_spans as s
    left join parents as p on s.node = p.node
),

walk as (
    select
        k.node,
        0::bigint as height,
        0::bigint as depth,
        null::bigint as anchor,
        null::varchar as anchor_serves,
        k.could_serve as serves,
        null::bigint as scope,
        null::bigint as agent,
        null::bigint as tool,
        null::bigint as step,
        null::bigint as usage,
        k.role,
        k.has_usage
    from known as k
    where k.parent is null
    union all
    select
        k.node,
        w.height + 1,
        w.depth + (w.role in ('agent', 'tool', 'retrieval'))::integer,
        case
            when w.role in ('agent', 'tool', 'retrieval') then null
            when w.serves is not null then w.node
            else w.anchor
        end as anchor,
        case
            when w.role in ('agent', 'tool', 'retrieval') then null
            else coalesce(w.serves, w.anchor_serves)
        end as anchor_serves,
        case
            when k.role in ('llm', 'embedding') then k.role
            when w.role in ('agent', 'tool', 'retrieval') or coalesce(w.serves, w.anchor_serves) is null
                then k.could_serve
        end as serves,
        case when w.role in ('agent', 'tool', 'retrieval') then w.node else w.scope end as scope,
        case when w.role = 'agent' then w.node else w.agent end as agent,
        case
            when w.role = 'tool' then w.node
            when w.role = 'agent' or w.serves is not null then null
            else w.tool
        end as tool,
        case when w.serves is not null or w.role in ('tool', 'retrieval') then w.node else w.step end as step,
        case
            when w.has_usage and (w.role in ('agent', 'wrapper') or w.serves is not null) then w.node else w.usage
        end as usage,
        k.role,
        k.has_usage
    from walk as w
    inner join known as k on k.parent = w.node
    where w.height < 1000
)

select
    w.node, k.parent, w.height, w.depth, w.anchor, w.anchor_serves, w.serves, w.scope, w.agent, w.tool, w.step, w.usage
from walk as w
inner join known as k on w.node = k.node
union all
select k.node, null, 0, 0, null, null, k.could_serve, null, null, null, null, null
from known as k
where k.node not in (select w.node from walk as w)
