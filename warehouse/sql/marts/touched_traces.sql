-- grain: one row per trace whose task is computed again
-- inputs: touched_keys, trace_tasks, task_tokens, spans
-- law: traces that share a key, directly or through others, are one task, named after its earliest trace; later
--      tasks of a session are computed again with an earlier one, because their first prompt builds on it
create or replace temp table touched_traces as
with recursive
-- A key can meet others in two ways: it names a trace, or a trace with several keys holds it.
meeting as (
    select t.task_id
    from trace_tasks as t
    where t.trace_id in (select k.trace_id from touched_keys as k)
    union
    select t.task_id
    from (
        select task_id, unnest(join_keys) as join_key
        from trace_tasks
        where
            len(join_keys) > 1
            or trace_id in (
                select split_part(k.join_key, '/', -1) from touched_keys as k where k.start_ns is null
            )
    ) as t
    where t.join_key in (select k.join_key from touched_keys as k)
),

keyed as (
    select trace_id, join_key, start_ns
    from touched_keys
    union all
    select t.trace_id, unnest(t.join_keys), t.start_ns
    from trace_tasks as t
    where
        t.task_id in (select m.task_id from meeting as m)
        and t.trace_id not in (select k.trace_id from touched_keys as k)
),

traces as (
    select trace_id, min(start_ns) as start_ns, list(join_key order by join_key) as join_keys
    from keyed
    group by trace_id
),

shared as (
    select trace_id, join_key
    from keyed
    where join_key in (select k.join_key from keyed as k group by k.join_key having count(distinct k.trace_id) > 1)
),

joined (trace_id, label) using key (trace_id) as (
    select distinct trace_id, trace_id from shared
    union
    select s.trace_id, min(best.label)
    from shared as s
    inner join (
        select k.join_key, min(j.label) as label
        from shared as k
        inner join recurring.joined as j on k.trace_id = j.trace_id
        group by k.join_key
    ) as best on s.join_key = best.join_key
    inner join recurring.joined as mine on s.trace_id = mine.trace_id
    where best.label < mine.label
    group by s.trace_id
),

named as (
    select
        t.trace_id,
        t.start_ns,
        t.join_keys,
        first_value(t.trace_id) over (
            partition by coalesce(j.label, t.trace_id) order by t.start_ns, t.trace_id
        ) as task_id
    from traces as t
    left join joined as j on t.trace_id = j.trace_id
),

sessions as (
    select s.tenant, s.session_id as session, min(n.start_ns) as start_ns
    from spans as s
    inner join named as n on s.trace_id = n.trace_id
    where s.session_id is not null
    group by s.tenant, s.session_id
    union all
    select k.tenant, k.session, min(k.start_ns)
    from task_tokens as k
    where k.session is not null and k.task_id in (select m.task_id from meeting as m)
    group by k.tenant, k.session
),

later as (
    select distinct k.task_id
    from task_tokens as k
    inner join sessions as s
        on k.session = s.session and k.tenant is not distinct from s.tenant and k.start_ns >= s.start_ns
)

select trace_id, task_id, start_ns, join_keys
from named
union all
select t.trace_id, t.task_id, t.start_ns, t.join_keys
from trace_tasks as t
where
    t.task_id in (select l.task_id from later as l)
    and t.trace_id not in (select n.trace_id from named as n)
