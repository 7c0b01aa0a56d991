-- grain: quarter-hour x pool x stretch with one load and one set of causes
-- inputs: ledger_loads, ledger_tools
-- law: tiles the time between the first and the last boundary. Where waits of several causes meet, the cause is several
create or replace temp table ledger_runs as
with told as (
    select
        quarter_ns,
        pool,
        turn,
        load,
        t_ns as from_ns,
        t_ns + length_ns as to_ns,
        for_tools,
        otherwise,
        (causes & 34359738367)::bigint as tool_sum,
        (causes >> 35 & 562949953421311)::bigint as tool_squares,
        (causes >> 84 & 2097151)::bigint as for_models,
        (causes >> 105)::bigint as for_people
    from ledger_loads
    where length_ns > 0
),

named as (
    select
        quarter_ns,
        pool,
        turn,
        load,
        from_ns,
        to_ns,
        case
            when for_tools > 0 and for_tools * tool_squares::hugeint = tool_sum::hugeint * tool_sum
                then tool_sum // for_tools
            else 0
        end as tool,
        case
            when otherwise = 0 then null
            when for_models = otherwise then 'other_model'
            when for_people = otherwise then 'person'
            when for_models + for_people = 0 then 'orchestrator'
            else 'several'
        end as other_cause
    from told
),

marked as (
    select
        *,
        (load, tool, other_cause) is not distinct from lag((load, tool, other_cause)) over boundary as joins
    from named
    window boundary as (partition by quarter_ns, pool order by turn)
),

numbered as (
    select
        *,
        sum((not joins)::integer) over (partition by quarter_ns, pool order by turn rows unbounded preceding) as run
    from marked
),

runs as (
    select
        quarter_ns,
        pool,
        any_value(load) as load,
        any_value(tool) as tool,
        any_value(other_cause) as other_cause,
        min(from_ns) as from_ns,
        max(to_ns) as to_ns
    from numbered
    group by quarter_ns, pool, run
)

select
    runs.quarter_ns,
    runs.pool,
    runs.load,
    runs.from_ns,
    runs.to_ns,
    coalesce(tools.tool, 'several') as tool_cause,
    runs.other_cause
from runs
left join (select number, any_value(tool) as tool from ledger_tools where number < 16383 group by number) as tools
    on tools.number = runs.tool
