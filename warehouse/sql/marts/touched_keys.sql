-- grain: one row per trace that changed (or whose logs a changed one may tell) and key that may join it to others
-- inputs: dirty_traces, spans
-- law: every changed trace has its own key; traces of one task share a key, and no tenant joins another's
create or replace temp table touched_keys as
with
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
    select distinct trace_id, 'key/' || tenant || '/' || dialect || '/' || task_key, null
    from changed
    where task_key is not null
)

select trace_id, join_key, min(start_ns) as start_ns
from keys
group by trace_id, join_key
