-- grain: one row per log row of a touched task whose call a span tells as well
-- inputs: touched_traces, spans
-- law: of spans and logs that tell of one call the span counts, whichever came first. A log row is told if a
--      span has its id; if both tell the same tokens at the same time; or if one of them has no id and the run's
--      spans tell of such calls at all. A call without usage is told if any of the run's agents or calls was at work
--      then, a tool that no task of spans would hold wherever the run's spans tell usage. A run is a session, or a trace that the record names
create or replace temp table told_logs as
with
logs as (
    select
        s.rowid as row_id,
        t.task_id,
        s.tenant,
        s.dialect,
        s.role,
        s.session_id,
        s.task_links,
        coalesce(s.tool_call_id, s.response_id) as call_id,
        s.start_ns,
        s.end_ns,
        s.input_tokens,
        s.output_tokens,
        s.input_tokens is not null or s.output_tokens is not null as has_usage
    from spans as s
    inner join touched_traces as t on s.trace_id = t.trace_id
    where s.signal = 'log'
),

sessions as (
    select distinct tenant, session_id from logs
    where session_id is not null
),

links as (
    select distinct tenant, unnest(task_links) as trace_id from logs
    where task_links is not null
),

-- The session may stand on another span of the trace than the call.
run_traces as (
    select distinct s.trace_id, s.tenant, 'session/' || s.session_id as run
    from spans as s
    inner join sessions as n on s.tenant is not distinct from n.tenant and s.session_id = n.session_id
    where s.signal is distinct from 'log'
    union
    select trace_id, tenant, 'trace/' || trace_id from links
),

shown as (
    select
        r.tenant,
        r.run,
        s.dialect,
        case when s.role = 'tool' then 'tool' else 'llm' end as role,
        coalesce(case when s.role = 'tool' then s.tool_call_id end, s.response_id) as call_id,
        s.start_ns,
        greatest(s.end_ns, s.start_ns) as end_ns,
        s.input_tokens,
        s.output_tokens,
        s.role = 'tool' or s.input_tokens is not null or s.output_tokens is not null as tells
    from spans as s
    inner join run_traces as r on s.trace_id = r.trace_id and s.tenant is not distinct from r.tenant
    where
        s.signal is distinct from 'log'
        and s.role in ('tool', 'llm', 'embedding', 'gateway', 'server', 'attempt', 'agent', 'wrapper')
),

runs as (
    select tenant, run, dialect, role, bool_or(call_id is not null) as has_ids
    from shown
    where tells
    group by tenant, run, dialect, role
),

placed as (
    select l.*, 'session/' || l.session_id as run from logs as l
    where l.session_id is not null
    union all
    select l.*, 'trace/' || unnest(l.task_links) from logs as l
    where l.task_links is not null
),

by_id as (
    select p.row_id
    from placed as p
    inner join shown as s
        on p.tenant is not distinct from s.tenant and p.run = s.run and p.role = s.role and p.call_id = s.call_id
    where s.tells or not p.has_usage
    union
    select l.row_id
    from logs as l
    inner join spans as s on l.tenant is not distinct from s.tenant and l.call_id = s.response_id
    where
        s.signal is distinct from 'log'
        and l.role = 'llm'
        and (s.input_tokens is not null or s.output_tokens is not null or not l.has_usage)
),

by_figures as (
    select p.row_id
    from placed as p
    inner join shown as s
        on
            p.tenant is not distinct from s.tenant
            and p.run = s.run
            and p.dialect = s.dialect
            and p.role = s.role
            and p.input_tokens = s.input_tokens
            and p.output_tokens = s.output_tokens
    where p.start_ns <= s.end_ns + 1000000000 and s.start_ns <= p.end_ns + 1000000000
),

by_time as (
    select p.row_id
    from placed as p
    inner join shown as s
        on p.tenant is not distinct from s.tenant and p.run = s.run and p.dialect = s.dialect and p.role = s.role
    where
        p.role = 'llm'
        and not p.has_usage
        and p.start_ns <= s.end_ns + 1000000000
        and s.start_ns <= p.end_ns + 1000000000
),

by_run as (
    select p.row_id
    from placed as p
    inner join runs as r
        on p.tenant is not distinct from r.tenant and p.run = r.run and p.dialect = r.dialect and p.role = r.role
    where (p.role = 'tool' or p.has_usage) and (p.call_id is null or not r.has_ids)
),

span_tasks as (
    select distinct t.task_id
    from touched_traces as t
    inner join spans as s on t.trace_id = s.trace_id
    where s.signal is distinct from 'log'
),

homeless as (
    select p.row_id
    from placed as p
    inner join runs as r
        on p.tenant is not distinct from r.tenant and p.run = r.run and p.dialect = r.dialect and r.role = 'llm'
    where p.role = 'tool' and p.task_id not in (select t.task_id from span_tasks as t)
)

select row_id from by_id
union
select row_id from by_figures
union
select row_id from by_time
union
select row_id from by_run
union
select row_id from homeless
