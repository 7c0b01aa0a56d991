-- grain: tool whose calls were repeated with equal arguments and an equal result in a task
-- inputs: steps, spans, task_waits
-- law: only repeats of which every result is known and the same, and before which no tool ran, since the same call, that is
--      not marked read-only; is_read_only tells whether all calls of the tool are marked so. extra_s is the repeats' own
--      work, wait_cost_usd the share of the cards kept idle for that tool in those tasks that falls on it, null where a
--      part has no price
with
marked as (
    select trace_id, span_id, start_ns, bool_and(tool_read_only) as is_read_only
    from spans
    where role = 'tool' and tool_read_only is not null
    group by trace_id, span_id, start_ns
),

calls as (
    select
        s.task_id,
        s.step_id,
        s.start_ns,
        s.tool_name,
        s.args_hash,
        s.result_hash,
        coalesce(s.work_ns, s.end_ns - s.start_ns) as own_ns,
        coalesce(m.is_read_only, false) as is_read_only,
        s.simulated
    from steps as s
    left join marked as m on s.trace_id = m.trace_id and s.span_id = m.span_id and s.start_ns = m.start_ns
    where
        s.counted
        and s.kind = 'tool'
        and s.tool_name is not null
        and not coalesce(s.is_untimed, false)
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
),

placed as (
    select
        *,
        coalesce(
            sum((not is_read_only)::integer) over (
                partition by task_id order by start_ns, step_id rows between unbounded preceding and 1 preceding
            ),
            0
        ) as writes_before
    from calls
),

paired as (
    select
        *,
        count(*) over same as alike,
        count(result_hash) over same as told,
        min(result_hash) over same = max(result_hash) over same as is_same,
        -- The call itself, where it may write, stands between it and the next.
        writes_before = lag(writes_before) over in_order as is_unwritten
    from placed
    where args_hash is not null
    window
        same as (partition by task_id, tool_name, args_hash),
        in_order as (partition by task_id, tool_name, args_hash order by start_ns, step_id)
),

read_only as (
    select tool_name, bool_and(is_read_only) as is_read_only
    from calls
    group by tool_name
),

repeated as (
    select
        p.task_id,
        p.tool_name,
        sum(p.own_ns) as extra_ns,
        count(*) as extra_calls,
        bool_or(p.simulated) as simulated
    from paired as p
    inner join read_only as o on p.tool_name = o.tool_name
    where p.told = p.alike and p.is_same and (p.is_unwritten or (not o.is_read_only and p.is_unwritten is not null))
    group by p.task_id, p.tool_name
),

worked as (
    select task_id, tool_name, sum(own_ns) as own_ns
    from calls
    group by task_id, tool_name
),

waited as (
    select
        task_id,
        cause,
        sum(gpu_ns) as gpu_ns,
        case when count(*) = count(cost_usd) then sum(cost_usd) end as cost_usd
    from task_waits
    where state = 'tool_wait' and quarter_ns >= $since_ns and quarter_ns < $until_ns
    group by task_id, cause
)

select
    r.tool_name,
    any_value(o.is_read_only) as is_read_only,
    sum(r.extra_calls)::bigint as extra_calls,
    count(*) as tasks,
    (sum(r.extra_ns) / 1e9)::double as extra_s,
    (sum(coalesce(w.gpu_ns, 0) * r.extra_ns / nullif(k.own_ns, 0)) / 1e9)::double as wait_gpu_s,
    case
        when bool_and(w.task_id is null or w.cost_usd is not null)
            then sum((coalesce(w.cost_usd, 0) * r.extra_ns / nullif(k.own_ns, 0))::decimal(38, 12))::decimal(38, 12)
    end as wait_cost_usd,
    bool_or(r.simulated) as simulated
from repeated as r
inner join worked as k on r.task_id = k.task_id and r.tool_name = k.tool_name
inner join read_only as o on r.tool_name = o.tool_name
left join waited as w on r.task_id = w.task_id and r.tool_name = w.cause
group by r.tool_name
order by extra_s desc, r.tool_name
