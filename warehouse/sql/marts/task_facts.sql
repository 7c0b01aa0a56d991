-- grain: one row per task
-- inputs: task_spans, span_tree, setting
-- law: a trace in which no span tells of agent work is no task. A root has no parent, or is where a service took
--      over from a parent that nobody sent (kind server or consumer). A task is open while a trace of
--      it has no root or a parent is missing, until it timed out; it is interrupted if it timed out without a root. Of several roots the last that ended tells the outcome
create or replace temp table task_facts as
with
placed as (
    select
        s.*,
        t.depth,
        t.height,
        s.parent_span_id is null
        or (t.parent is null and coalesce(s.span_kind, '') in ('server', 'consumer')) as is_root,
        t.parent is null and s.parent_span_id is not null
        and coalesce(s.span_kind, '') not in ('server', 'consumer') as is_orphan
    from task_spans as s
    inner join span_tree as t on s.node = t.node
    where
        s.task_id in (
            select a.task_id from task_spans as a
            where a.role not in ('other', 'transport', 'inner', 'noise')
        )
),

traces as (
    select task_id, bool_or(is_root) as has_root
    from placed
    group by task_id, trace_id
),

rooted as (
    select task_id, bool_and(has_root) as has_roots
    from traces
    group by task_id
),

gathered as (
    select
        p.task_id,
        list(distinct p.trace_id order by p.trace_id) as trace_ids,
        -- A root agent's own name says more than its span's, which begins with the operation.
        coalesce(
            arg_min(coalesce(case when p.role = 'agent' then p.agent_name end, p.name), p.node)
                filter (where p.is_root),
            arg_min(p.name, p.node)
        ) as name,
        coalesce(
            arg_min(p.agent_name, p.height * 1000000000 + p.node) filter (where p.role = 'agent'),
            arg_min(p.agent_name, p.height * 1000000000 + p.node),
            -- Where no span names an agent, the program that sent the spans is it.
            arg_min(p.service_name, p.node) filter (where not starts_with(p.service_name, 'unknown_service'))
        ) as agent,
        arg_min(p.task_type, p.node) as task_type,
        arg_min(p.tenant, p.node) as tenant,
        arg_min(p.session_id, p.node) as session,
        arg_min(p.user_id, p.node) as user_id,
        min(p.start_ns) as start_ns,
        max(p.end_ns) as end_ns,
        bool_or(p.is_orphan) as has_orphans,
        arg_max(p.status, p.end_ns) filter (where p.is_root) as root_status,
        bool_or(p.simulated) as simulated
    from placed as p
    group by p.task_id
)

select
    g.task_id,
    g.trace_ids,
    g.name,
    g.agent,
    g.task_type,
    g.tenant,
    g.session,
    g.user_id,
    g.start_ns,
    g.end_ns,
    g.simulated,
    (not r.has_roots or g.has_orphans) and g.end_ns + w.task_timeout_ns > w.now_ns as is_open,
    case
        when (not r.has_roots or g.has_orphans) and g.end_ns + w.task_timeout_ns > w.now_ns then 'open'
        when not r.has_roots then 'interrupted'
        when g.root_status = 'error' then 'error'
        else 'ok'
    end as status
from gathered as g
inner join rooted as r on g.task_id = r.task_id
cross join setting as w
