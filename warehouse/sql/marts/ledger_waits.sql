-- grain: dirty quarter-hour x hold x stretch in which its task waits with the same deeds in flight
-- inputs: ledger_deeds
-- law: no step of the task is on the pool. tools counts the leaf tools in flight; tool is their one name, else 0
create or replace temp table ledger_waits as
with edges as (
    select quarter_ns, hold, pool, from_ns as t_ns, deed, tool, 1 as sign from ledger_deeds
    union all
    select quarter_ns, hold, pool, to_ns, deed, tool, -1 from ledger_deeds
),

-- counts of up to 2^20 packed into one number: a running sum costs more than its unpacking
packed as (
    select
        quarter_ns,
        hold,
        pool,
        t_ns,
        sign * case deed
            when 'hold' then 1::hugeint
            when 'served' then 1048576::hugeint
            when 'tool' then 1099511627776::hugeint
            when 'model' then 1152921504606846976::hugeint
            else 1208925819614629174706176::hugeint
        end as deeds,
        sign * (tool + tool * tool * 17592186044416::hugeint) as tools
    from edges
),

running as (
    select
        quarter_ns,
        hold,
        pool,
        t_ns as from_ns,
        lead(t_ns) over boundary as to_ns,
        sum(deeds) over boundary as deeds,
        sum(tools) over boundary as tools
    from packed
    window boundary as (partition by quarter_ns, hold order by t_ns rows unbounded preceding)
),

lasting as (
    select
        quarter_ns,
        hold,
        pool,
        from_ns,
        to_ns,
        (deeds >> 40 & 1048575)::bigint as tools,
        (deeds >> 60 & 1048575)::bigint as models,
        (deeds >> 80)::bigint as people,
        (tools & 17592186044415)::bigint as tool_sum,
        (tools >> 44)::bigint as tool_squares
    from running
    where from_ns < to_ns and (deeds & 1048575) > 0 and (deeds >> 20 & 1048575) = 0
)

select
    row_number() over () as wait,
    quarter_ns,
    hold,
    pool,
    from_ns,
    to_ns,
    tools,
    -- n numbers are all equal just if n times the sum of their squares is the square of their sum
    case when tools > 0 and tools * tool_squares::hugeint = tool_sum::hugeint * tool_sum then tool_sum // tools else 0 end
        as tool,
    case
        when tools > 0 then 'tool'
        when models > 0 then 'other_model'
        when people > 0 then 'person'
        else 'orchestrator'
    end as cause
from lasting
