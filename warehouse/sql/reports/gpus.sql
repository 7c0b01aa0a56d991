-- grain: GPU or slice of one
-- inputs: gpus, gpu_keys, gpu_servings, samples, gpu_timeline, gpu_rates, setting
-- law: a GPU that no deployment claims says what its samples tell of it; signals that contradict each other are named,
-- never mended. As of the newest sample, unless now_ns is given
-- params: now_ns=null
with newest as (
    select coalesce($now_ns, max(last_ns) filter (where not is_declared), max(now_ns)) as now_ns
    from (select last_ns, is_declared, now_ns from setting left join gpus on true)
),

names as (
    select gpu_id, count(*) as names from gpu_keys group by gpu_id
),

said as (
    select
        gpu_id,
        arg_max(deployment, to_ns) as said_deployment,
        arg_max(served_model, to_ns) as served_model,
        arg_max(served_port, to_ns) as served_port,
        arg_max(workload, to_ns) as workload
    from gpu_servings
    group by gpu_id
),

lately as (
    select
        gpu_keys.gpu_id,
        string_agg(distinct samples.source, ', ' order by samples.source) as sources,
        arg_max(samples.value, samples.t_ns) filter (where samples.metric = 'util_ratio') as util_ratio,
        arg_max(samples.value, samples.t_ns) filter (where samples.metric = 'power_w') as power_w,
        arg_max(samples.value, samples.t_ns) filter (where samples.metric = 'memory_used_mib') as memory_used_mib,
        arg_max(samples.value, samples.t_ns) filter (where samples.metric = 'processes') as processes,
        arg_max(samples.value, samples.t_ns) filter (where samples.metric = 'xid') as xid,
        max(samples.t_ns) as last_ns
    from samples
    inner join gpu_keys
        on gpu_keys.host is not distinct from samples.host
        and gpu_keys.gpu_uuid is not distinct from samples.gpu_uuid
        and gpu_keys.bus_id is not distinct from samples.bus_id
    where
        samples.t_ns > (select now_ns - 300000000000 from newest)
        and samples.t_ns <= (select now_ns from newest)
    group by gpu_keys.gpu_id
),

states as (
    select gpu_id, arg_max(state, to_ns) as state, arg_max(stalled, to_ns) as stalled
    from gpu_timeline
    where quarter_ns > (select now_ns - 86400000000000 from newest) and from_ns < (select now_ns from newest)
    group by gpu_id
),

rates as (
    select gpu_rates.*
    from gpu_rates, newest
    where gpu_rates.from_ns <= newest.now_ns and gpu_rates.to_ns > newest.now_ns
)

select
    gpus.gpu_id,
    gpus.gpu_name,
    gpus.sku,
    gpus.deployment,
    gpus.replica,
    gpus.placed_by,
    case
        when gpus.deployment is not null then null
        when gpus.parent_uuid is null and cut.parent_uuid is not null then 'cut into slices, which are placed themselves'
        when said.served_model is not null then 'serves ' || said.served_model || ', which no deployment names'
        when said.served_port is not null then 'serves at ' || said.served_port || ', which no deployment names'
        when said.workload is not null then 'held by ' || said.workload || ', which no deployment names'
        when said.said_deployment is not null then said.said_deployment || ' is no deployment of the settings'
        else 'no deployment has a place for a ' || coalesce(gpus.sku, 'card of unknown SKU')
    end as unmatched,
    said.served_model,
    said.served_port,
    said.workload,
    gpus.host,
    gpus.parent_uuid,
    gpus.slices,
    lately.sources,
    coalesce(names.names, 0)::bigint as names,
    states.state,
    states.stalled,
    lately.util_ratio,
    lately.power_w,
    lately.memory_used_mib,
    lately.processes::bigint as processes,
    lately.xid::bigint as xid,
    case
        when lately.util_ratio >= 0.95 and lately.power_w <= 1.25 * gpus.idle_w
            then 'busy at the power of an idle card: a latched counter or a dead-locked job'
        when lately.util_ratio >= 0.95 and lately.processes = 0 then 'busy without a process'
        when lately.util_ratio < setting.busy_ratio and lately.power_w > 2 * gpus.idle_w
            then 'idle by its counter, and drawing more than twice what an idle card draws'
        when lately.processes = 0 and lately.memory_used_mib >= 1024 then 'memory held by processes that are not seen'
    end as contradiction,
    rates.usd_per_hour,
    rates.source as price_source,
    make_timestamp(lately.last_ns // 1000) as last_sample_at,
    gpus.is_declared,
    gpus.simulated
from gpus
cross join setting
left join names on names.gpu_id = gpus.gpu_id
left join said on said.gpu_id = gpus.gpu_id
left join lately on lately.gpu_id = gpus.gpu_id
left join states on states.gpu_id = gpus.gpu_id
left join rates on rates.gpu_id = gpus.gpu_id
left join (select distinct parent_uuid from gpus where parent_uuid is not null) as cut on cut.parent_uuid = gpus.gpu_uuid
order by gpus.deployment nulls last, gpus.replica, gpus.gpu_id
