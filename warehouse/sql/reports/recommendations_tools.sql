-- grain: tool whose calls were repeated with equal arguments and an equal result in a task
-- inputs: steps, task_waits
-- law: only repeats of which every result is known and the same; extra_s is the repeats' own work, wait_cost_usd the share
--      of the cards kept idle for that tool in those tasks that falls on it, null where a part has no price
with
calls as (
    select
        task_id,
        tool_name,
        args_hash,
        coalesce(work_ns, end_ns - start_ns) as own_ns,
        result_hash,
        row_number() over (partition by task_id, tool_name, args_hash order by start_ns, step_id) > 1 as is_extra,
        simulated
    from steps
    where
        counted
        and kind = 'tool'
        and tool_name is not null
        and not coalesce(is_untimed, false)
        and start_ns >= $since_ns
        and start_ns < $until_ns
),

repeated as (
    select
        task_id,
        tool_name,
        sum(own_ns) filter (where is_extra) as extra_ns,
        count(*) filter (where is_extra) as extra_calls,
        bool_or(simulated) as simulated
    from (
        select
            *,
            count(*) over same as alike,
            count(result_hash) over same as told,
            count(distinct result_hash) over same as results
        from calls
        where args_hash is not null
        window same as (partition by task_id, tool_name, args_hash)
    )
    where alike > 1 and told = alike and results = 1
    group by task_id, tool_name
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
left join waited as w on r.task_id = w.task_id and r.tool_name = w.cause
group by r.tool_name
order by extra_s desc, r.tool_name
