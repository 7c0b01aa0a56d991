-- grain: one row per trace that changed and key that may join it to other traces
-- inputs: dirty_traces, spans
-- law: every changed trace has its own key; traces of one task share a key, and no tenant joins another's
create or replace temp table touched_keys as
with
changed as (
    select
        s.trace_id,
        coalesce(s.tenant, '') as tenant,
        coalesce(s.dialect, '') as dialect,
        s.task_key,
        s.task_links,
        s.start_ns
    from spans as s
    where s.trace_id in (select d.trace_id from dirty_traces as d)
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
