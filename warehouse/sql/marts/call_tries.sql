-- grain: one row per call that tells of more than one try: how many tries its own spans tell of
-- inputs: task_spans, span_tree, call_views, tries_with_usage
-- law: the strongest signal, never their sum. A failed HTTP request, gateway request or inner
--      call is a try if another of its kind followed; a failed attempt span always is. Of nested views of one
--      failure the innermost counts. Tries that carry usage have rows of their own and are among these
create or replace temp table call_tries as
with
parts as (
    select
        t.node,
        s.role,
        v.call,
        t.parent,
        s.start_ns,
        greatest(s.end_ns, s.start_ns + 1) as end_ns,
        s.status = 'error' as failed,
        s.attempts
    from span_tree as t
    inner join task_spans as s on t.node = s.node
    inner join call_views as v on t.anchor = v.node and not v.is_rollup
    where s.role in ('transport', 'gateway', 'server', 'attempt', 'llm', 'embedding')
),

failures as (
    select p.*
    from parts as p
    where
        p.failed
        and p.node not in (
            select i.parent from parts as i
            inner join parts as o on i.parent = o.node and i.role = o.role
            where i.failed
        )
),

lasts as (
    select call, role, max(start_ns) as start_ns
    from parts
    group by call, role
),

counted as (
    select
        f.call,
        f.role,
        count(*) filter (where f.end_ns <= l.start_ns) as followed,
        count(*) as failed
    from failures as f
    inner join lasts as l on f.call = l.call and f.role = l.role
    group by f.call, f.role
),

signals as (
    select
        c.call,
        case
            when c.role <> 'attempt' then c.followed + 1
            when s.status = 'error' then c.failed
            else c.failed + 1
        end as tries
    from counted as c
    inner join task_spans as s on c.call = s.node
    union all
    select v.call, s.attempts
    from call_views as v
    inner join task_spans as s on v.node = s.node
    union all
    select call, attempts
    from parts
    union all
    select call, count(*) + 1
    from tries_with_usage
    group by call
)

select call, max(tries) as tries
from signals
group by call
having max(tries) > 1
