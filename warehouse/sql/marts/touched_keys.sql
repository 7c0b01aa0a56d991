-- grain: one row per trace that changed (or whose logs a changed one may tell) and key that may join it to others
-- inputs: dirty_traces, spans
-- law: every changed trace has its own key; traces of one task share a key, and no tenant joins another's. Two
--      traces that show one answer at one time (a proxy or a second exporter that passed no context on) are one
--      task. Short answer ids are drawn again by some servers, so they prove nothing
create or replace temp table touched_keys as
with
-- Only answers of the time that changed can be shown twice: older rows are not even looked at.
news as (
    select
        min(start_ns) as from_ns,
        max(greatest(end_ns, start_ns)) as to_ns,
        list(distinct response_id) filter (where len(response_id) >= 16) as response_ids
    from spans
    where trace_id in (select d.trace_id from dirty_traces as d)
),

answers as (
    select
        trace_id,
        tenant,
        response_id,
        start_ns,
        end_ns,
        input_tokens
    from spans
    where
        len(response_id) >= 16
        and signal is distinct from 'log'
        and end_ns > start_ns
        and role in ('llm', 'embedding', 'gateway', 'server')
        and start_ns <= (select n.to_ns from news as n)
        and start_ns >= (select n.from_ns - 3600000000000 from news as n)
        and response_id in (select unnest(n.response_ids) from news as n)
),

shown_twice as (
    select distinct a.trace_id, b.trace_id as other_trace_id
    from answers as a
    inner join answers as b
        on
            a.response_id = b.response_id
            and a.tenant is not distinct from b.tenant
            and a.trace_id <> b.trace_id
            and a.start_ns < b.end_ns
            and b.start_ns < a.end_ns
            and coalesce(a.input_tokens = b.input_tokens, true)
),

-- What spans tell of a session decides whether its log records count.
told_again as (
    select
        s.tenant,
        s.session_id,
        s.response_id
    from spans as s
    where
        s.trace_id in (select d.trace_id from dirty_traces as d)
        and (s.session_id is not null or s.response_id is not null)
),

logs as (
    select
        trace_id,
        tenant,
        session_id,
        response_id
    from spans
    where signal = 'log'
),

changed_traces as (
    select trace_id from dirty_traces
    union
    select trace_id from shown_twice
    union
    select l.trace_id
    from logs as l
    inner join told_again as t on l.tenant is not distinct from t.tenant and l.session_id = t.session_id
    union
    select l.trace_id
    from logs as l
    inner join told_again as t on l.tenant is not distinct from t.tenant and l.response_id = t.response_id
),

changed as (
    select
        s.trace_id,
        coalesce(s.tenant, '') as tenant,
        coalesce(s.dialect, '') as dialect,
        s.task_key,
        s.task_links,
        s.start_ns
    from spans as s
    where s.trace_id in (select d.trace_id from changed_traces as d)
),

keys as (
    select trace_id, 'trace/' || tenant || '/' || trace_id as join_key, min(start_ns) as start_ns
    from changed
    group by trace_id, tenant
    union all
    select distinct trace_id, 'trace/' || tenant || '/' || unnest(task_links), null
    from changed
    where task_links is not null
    union all
    select c.trace_id, 'trace/' || c.tenant || '/' || t.other_trace_id, null
    from shown_twice as t
    inner join (select distinct trace_id, tenant from changed) as c on t.trace_id = c.trace_id
    union all
    select distinct trace_id, 'key/' || tenant || '/' || dialect || '/' || task_key, null
    from changed
    where task_key is not null
)

select trace_id, join_key, min(start_ns) as start_ns
from keys
group by trace_id, join_key
