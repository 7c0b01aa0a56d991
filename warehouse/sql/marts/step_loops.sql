-- grain: one row per counted tool call that repeats an earlier one
-- inputs: task_spans, step_rows
-- law: a repeat has the same tool and equal hashes of whole arguments and result as an earlier call that had ended
--      and had not failed (a failed one is a tool retry), with no other tool between that may write; or it stands
--      in a cycle of two to four calls that equals the one before it. What has no hashes is never counted
create or replace temp table step_loops as
with
tools as (
    select
        r.node,
        r.task_id,
        r.start_ns,
        r.end_ns,
        s.tool_name,
        s.tool_name || '/' || s.args_hash || '/' || s.result_hash as deed,
        r.failed,
        sum((not coalesce(s.tool_read_only, false))::integer) over (
            partition by r.task_id order by r.node
        ) as writes,
        (not coalesce(s.tool_read_only, false))::integer as may_write,
        row_number() over (partition by r.task_id order by r.node) as position
    from step_rows as r
    inner join task_spans as s on r.node = s.node
    where r.counted and r.kind = 'tool'
),

repeats as (
    select
        node,
        task_id,
        position,
        deed,
        lag(end_ns) over same as earlier_end_ns,
        lag(failed) over same as earlier_failed,
        lag(writes) over same as earlier_writes,
        writes,
        may_write,
        start_ns
    from tools
    where deed is not null
    window same as (partition by task_id, deed order by position)
),

straight as (
    select node
    from repeats
    where earlier_end_ns <= start_ns and not earlier_failed and writes - may_write = earlier_writes
),

cycled as (
    select
        node,
        task_id,
        position,
        n.length,
        coalesce(
            deed = lag(deed, n.length) over by_time
            and not lag(failed, n.length) over by_time
            and lag(end_ns, n.length) over by_time <= start_ns,
            false
        ) as is_same
    from tools
    cross join (select unnest([2, 3, 4]) as length) as n
    window by_time as (partition by task_id, n.length order by position)
),

whole as (
    select
        task_id,
        length,
        position,
        count(*) filter (where is_same) over (
            partition by task_id, length order by position rows between length - 1 preceding and current row
        ) = length as closes
    from cycled
),

circled as (
    select distinct c.node
    from cycled as c
    inner join whole as w
        on
            c.task_id = w.task_id
            and c.length = w.length
            and c.position between w.position - w.length + 1 and w.position
    where w.closes
)

select node from straight
union
select node from circled
