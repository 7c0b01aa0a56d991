-- grain: GPU x stretch of time for which one sample speaks, near the dirty quarter-hours
-- inputs: samples, gpu_keys, host_offsets, gpu_sources, gpu_cuts, ledger_gpus, dirty_quarters, ledger_reach, setting
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

told as (
    select
        ledger_gpus.gpu,
        ledger_gpus.gpu_id,
        ledger_gpus.pool,
        ledger_gpus.replica_number,
        ledger_gpus.idle_w,
        coalesce(gpu_sources.place, 9) as place,
        coalesce(gpu_sources.follows_setting, false) as follows_setting,
        samples.metric,
        samples.t_ns - coalesce(host_offsets.offset_ns, 0) as t_ns,
        samples.value
    from samples
    inner join gpu_keys
        on gpu_keys.host is not distinct from samples.host
        and gpu_keys.gpu_uuid is not distinct from samples.gpu_uuid
        and gpu_keys.bus_id is not distinct from samples.bus_id
    inner join ledger_gpus on ledger_gpus.gpu_id = gpu_keys.gpu_id
    left join gpu_sources on gpu_sources.source = samples.source
    left join host_offsets
        on host_offsets.host is not distinct from samples.host
        and host_offsets.source is not distinct from samples.source
        and host_offsets.quarter_ns = samples.t_ns // 900000000000 * 900000000000
    where
        samples.metric in ('util_ratio', 'up', 'processes', 'memory_used_mib', 'power_w')
        and not isnan(samples.value)
        and samples.t_ns >= (select from_ns from reach)
        and samples.t_ns < (select to_ns from reach)
        and samples.t_ns <= (select now_ns from setting)
        and samples.t_ns // 900000000000 * 900000000000 in (select near.quarter_ns from near)
),

-- materialized, as the planner else pairs all samples before it looks whether any card has several sources
several as materialized (
    select told.gpu, told.metric, told.place, told.t_ns
    from told
    semi join (select gpu from told group by gpu having min(place) < max(place)) as mixed on mixed.gpu = told.gpu
),

-- while a better source tells a figure the others' is not heard; where it is silent they fill the gap
drowned as (
    select distinct worse.gpu, worse.metric, worse.place, worse.t_ns
    from several as worse
    inner join several as better
        on better.gpu = worse.gpu
        and better.metric = worse.metric
        and better.place < worse.place
        and better.t_ns >= worse.t_ns - 3 * (select sample_interval_ns from setting)
        and better.t_ns <= worse.t_ns + 3 * (select sample_interval_ns from setting)
),

numbered as (
    select
        told.gpu,
        told.t_ns,
        any_value(told.gpu_id) as gpu_id,
        any_value(told.pool) as pool,
        any_value(told.replica_number) as replica_number,
        any_value(told.idle_w) as idle_w,
        bool_or(told.follows_setting) as follows_setting,
        max(told.value) filter (where told.metric = 'util_ratio') as util_ratio,
        max(told.value) filter (where told.metric = 'up') as up,
        max(told.value) filter (where told.metric = 'processes') as processes,
        max(told.value) filter (where told.metric = 'memory_used_mib') as memory_used_mib,
        max(told.value) filter (where told.metric = 'power_w') as power_w
    from told
    anti join drowned
        on drowned.gpu = told.gpu
        and drowned.metric = told.metric
        and drowned.place = told.place
        and drowned.t_ns = told.t_ns
    group by told.gpu, told.t_ns
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

listed_figures as (
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
        carried.follows_setting,
        cuts.gpu_id is not null as is_cut,
        lag(carried.t_ns) over (partition by carried.gpu order by carried.t_ns) as before_ns,
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
    -- a card that is cut tells no load: what its slices leave of it is nobody's
    left join gpu_cuts as cuts
        on cuts.gpu_id = carried.gpu_id
        and cuts.slices_there > 0
        and cuts.from_ns < carried.t_ns
        and cuts.to_ns >= carried.t_ns
        and carried.up = 1
    where carried.util_ratio is not null or carried.up = 0 or cuts.gpu_id is not null
),

-- a source with a rhythm of its own (dcgm-exporter: 30 s) is heard as often as it lately spoke, 120 s at most
judged as (
    select
        *,
        case
            when follows_setting or count(before_ns) over lately < 3 then setting.sample_interval_ns
            else greatest(
                setting.sample_interval_ns,
                least(120000000000, quantile_disc(t_ns - before_ns, 0.5) over lately)
            )
        end as interval_ns
    from listed_figures, setting
    window lately as (partition by gpu order by t_ns rows between 4 preceding and current row)
),

-- an agent in a container may see no process though memory is held, so a list alone does not empty a card
emptied as (
    select
        *,
        case
            when processes is null then coalesce(memory_used_mib < 1, false)
            else processes = 0 and coalesce(memory_used_mib, 0) < 1024
        end as is_empty,
        coalesce(processes > 0, false) or coalesce(memory_used_mib >= 1024, false) as is_held
    from judged
)

select
    gpu,
    pool,
    replica_number,
    case
        when t_ns - before_ns <= 3 * interval_ns then before_ns
        else t_ns - interval_ns
    end as from_ns,
    t_ns as to_ns,
    is_empty,
    is_held,
    memory_used_mib,
    case
        when is_cut then 1
        when util_ratio is null then 6
        when util_ratio >= 0.95 and (is_empty or coalesce(power_w <= 1.25 * idle_w, false)) then 4
        when util_ratio >= busy_ratio then 3
        when is_empty then 1
        else 2
    end as code
from emptied
