-- grain: GPU x stretch of time for which one sample speaks, near the dirty quarter-hours
-- inputs: samples, ledger_gpus, dirty_quarters, ledger_reach, setting
-- law: a sample speaks for (previous sample, t], after a gap of more than 3 intervals for one interval only; of
-- equal times the busiest counts; codes: 6 lost, 4 stuck, 3 busy, 2 loaded, 1 empty
create or replace temp table ledger_windows as
with near as (
    select distinct unnest([quarter_ns - 900000000000, quarter_ns, quarter_ns + 900000000000]) as quarter_ns
    from dirty_quarters
),

reach as (
    select min(quarter_ns) as from_ns, max(quarter_ns) + 900000000000 as to_ns from near
),

wide as (
    select
        samples.host,
        samples.gpu_uuid,
        samples.bus_id,
        samples.t_ns,
        max(samples.value) filter (where samples.metric = 'util_ratio') as util_ratio,
        max(samples.value) filter (where samples.metric = 'up') as up,
        max(samples.value) filter (where samples.metric = 'processes') as processes,
        max(samples.value) filter (where samples.metric = 'memory_used_mib') as memory_used_mib,
        max(samples.value) filter (where samples.metric = 'power_w') as power_w
    from samples
    where
        samples.metric in ('util_ratio', 'up', 'processes', 'memory_used_mib', 'power_w')
        and not isnan(samples.value)
        and samples.t_ns >= (select from_ns from reach)
        and samples.t_ns < (select to_ns from reach)
        and samples.t_ns <= (select now_ns from setting)
        and samples.t_ns // 900000000000 * 900000000000 in (select near.quarter_ns from near)
    group by samples.host, samples.gpu_uuid, samples.bus_id, samples.t_ns
),

numbered as (
    select
        ledger_gpus.gpu,
        ledger_gpus.pool,
        ledger_gpus.replica_number,
        ledger_gpus.idle_w,
        wide.*
    from wide
    inner join ledger_gpus
        on ledger_gpus.gpu_id = concat_ws('/', coalesce(wide.host, ''), coalesce(wide.gpu_uuid, ''), coalesce(wide.bus_id, ''))
),

-- slow figures (every 5 s, or from another source) hold for 15 intervals
carried as (
    select
        *,
        max(case when processes is not null then t_ns end) over earlier as processes_ns,
        max(case when memory_used_mib is not null then t_ns end) over earlier as memory_ns
    from numbered
    window earlier as (partition by gpu order by t_ns rows unbounded preceding)
),

judged as (
    select
        carried.gpu,
        carried.pool,
        carried.replica_number,
        carried.t_ns,
        carried.util_ratio,
        carried.power_w,
        carried.idle_w,
        listed.processes,
        filled.memory_used_mib,
        lag(carried.t_ns) over (partition by carried.gpu order by carried.t_ns) as before_ns,
        (select sample_interval_ns from setting) as sample_interval_ns,
        (select busy_ratio from setting) as busy_ratio
    from carried
    left join numbered as listed
        on listed.gpu = carried.gpu
        and listed.t_ns = carried.processes_ns
        and listed.t_ns >= carried.t_ns - 15 * (select sample_interval_ns from setting)
    left join numbered as filled
        on filled.gpu = carried.gpu
        and filled.t_ns = carried.memory_ns
        and filled.t_ns >= carried.t_ns - 15 * (select sample_interval_ns from setting)
    where carried.util_ratio is not null or carried.up = 0
),

-- an agent in a container may see no process though memory is held, so a list alone does not empty a card
emptied as (
    select
        *,
        case
            when processes is null then coalesce(memory_used_mib < 1, false)
            else processes = 0 and coalesce(memory_used_mib, 0) < 1024
        end as is_empty
    from judged
)

select
    gpu,
    pool,
    replica_number,
    case
        when t_ns - before_ns <= 3 * sample_interval_ns then before_ns
        else t_ns - sample_interval_ns
    end as from_ns,
    t_ns as to_ns,
    case
        when util_ratio is null then 6
        when util_ratio >= 0.95 and (is_empty or coalesce(power_w <= 1.25 * idle_w, false)) then 4
        when util_ratio >= busy_ratio then 3
        when is_empty then 1
        else 2
    end as code
from emptied
