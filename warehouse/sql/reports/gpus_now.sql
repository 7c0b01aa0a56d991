-- grain: GPU
-- inputs: gpus, gpu_keys, samples, gpu_timeline, gpu_rates, setting
-- law: idle by samples alone and only as far as they speak: idle_s is null where the last sample is busy, lost or
-- absent, and counts from the last busy sample or from the last gap, 24 h at most. As of the newest sample, unless
-- now_ns is given; state is unknown where the last sample is older than 15 intervals then (3 of
-- a source with a rhythm of its own)
-- params: now_ns=null
with newest as (
    select coalesce($now_ns, max(last_ns) filter (where not is_declared), max(now_ns)) as now_ns
    from (select last_ns, is_declared, now_ns from setting left join gpus on true)
),

told as (
    select
        gpus.gpu_id,
        samples.t_ns,
        max(samples.value) filter (where samples.metric = 'util_ratio') as util_ratio,
        max(samples.value) filter (where samples.metric = 'up') as up
    from samples
    inner join gpu_keys
        on gpu_keys.host is not distinct from samples.host
        and gpu_keys.gpu_uuid is not distinct from samples.gpu_uuid
        and gpu_keys.bus_id is not distinct from samples.bus_id
    inner join gpus on gpus.gpu_id = gpu_keys.gpu_id
    where
        samples.metric in ('util_ratio', 'up')
        and samples.t_ns > (select now_ns - 86400000000000 from newest)
        and samples.t_ns <= (select now_ns from newest)
    group by gpus.gpu_id, samples.t_ns
),

-- how often a card speaks: as the setting says, or as its last samples were where a source has its own rhythm
paced as (
    select
        told.*,
        greatest(
            setting.sample_interval_ns,
            case
                when paces.from_others then least(120000000000, quantile_disc(told.t_ns - told.before_ns, 0.5) over lately)
            end
        ) as interval_ns
    from (select *, lag(t_ns) over (partition by gpu_id order by t_ns) as before_ns from told) as told
    inner join (select gpu_id, bool_or(from_others) as from_others from gpu_keys group by gpu_id) as paces
        on paces.gpu_id = told.gpu_id
    cross join setting
    where told.util_ratio is not null or told.up = 0
    window lately as (partition by told.gpu_id order by told.t_ns rows between 4 preceding and current row)
),

judged as (
    select
        told.*,
        -- where idleness cannot have begun before: a busy, lost or silent card, or a gap before the sample
        coalesce(told.util_ratio >= setting.busy_ratio, true) as is_busy,
        coalesce(
            told.t_ns - lag(told.t_ns) over (partition by told.gpu_id order by told.t_ns) > 3 * told.interval_ns,
            true
        ) as is_after_gap
    from paced as told, setting
),

by_gpu as (
    select
        gpu_id,
        max(t_ns) as last_ns,
        arg_max(interval_ns, t_ns) as interval_ns,
        arg_max(coalesce(util_ratio, -1), t_ns) as last_util_ratio,
        arg_max(is_busy, t_ns) as is_busy,
        greatest(max(t_ns) filter (where is_busy), max(t_ns) filter (where is_after_gap)) as since_ns
    from judged
    group by gpu_id
),

latest as (
    select
        gpu_id,
        arg_max(state, to_ns) as state,
        arg_max(from_ns, to_ns) as from_ns
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
    case
        when gpus.is_declared then latest.state
        when coalesce(
            by_gpu.last_ns < newest.now_ns - greatest(15 * setting.sample_interval_ns, 3 * by_gpu.interval_ns), true
        )
            then 'unknown'
        else latest.state
    end as state,
    make_timestamp(case when by_gpu.is_busy is false then by_gpu.since_ns else latest.from_ns end // 1000) as since_at,
    case when by_gpu.is_busy is false then ((by_gpu.last_ns - by_gpu.since_ns) / 1e9)::double end as idle_s,
    make_timestamp(coalesce(by_gpu.last_ns, case when not gpus.is_declared then gpus.last_ns end) // 1000)
        as last_sample_at,
    case when by_gpu.last_util_ratio >= 0 then by_gpu.last_util_ratio end as last_util_ratio,
    rates.usd_per_hour,
    rates.source as price_source,
    gpus.simulated,
    gpus.is_declared,
    gpus.placed_by
from gpus
cross join newest
cross join setting
left join by_gpu on by_gpu.gpu_id = gpus.gpu_id
left join latest on latest.gpu_id = gpus.gpu_id
left join rates on rates.gpu_id = gpus.gpu_id
order by gpus.deployment nulls last, gpus.replica, gpus.gpu_id
