-- grain: GPU that was held in the range
-- inputs: gpu_timeline, gpu_ledger, gpus, gpu_rates, samples
-- law: held_s = used_s + idle_s + unknown_s; used is serving, starting, lost or busy for someone unknown, and what was kept
--      for a task that waited; idle is spare, no_task, unloaded and stuck. cost_usd is the bill of the range, null where a
--      part has no price. Memory is the most that was in use; still_held tells whether it was held at the end
with
stretches as (
    select
        gpu_id,
        deployment,
        state,
        greatest(from_ns, $since_ns) as from_ns,
        least(to_ns, $until_ns) as to_ns
    from gpu_timeline
    where
        quarter_ns > $since_ns - 900000000000
        and quarter_ns < $until_ns
        and from_ns < $until_ns
        and to_ns > $since_ns
),

held as (
    select
        gpu_id,
        any_value(deployment) as deployment,
        min(from_ns) as from_ns,
        max(to_ns) as until_ns,
        sum(to_ns - from_ns) as held_ns,
        coalesce(sum(to_ns - from_ns) filter (where state in ('spare', 'no_task', 'unloaded', 'stuck')), 0) as idle_ns,
        coalesce(sum(to_ns - from_ns) filter (where state = 'unknown'), 0) as unknown_ns,
        coalesce(sum(to_ns - from_ns) filter (where state = 'serving'), 0) as serving_ns
    from stretches
    group by gpu_id
),

bills as (
    select gpu_id, case when count(*) = count(cost_usd) then sum(cost_usd)::decimal(38, 12) end as cost_usd
    from gpu_ledger
    where quarter_ns >= $since_ns and quarter_ns < $until_ns
    group by gpu_id
),

memory as (
    select
        concat_ws('/', coalesce(host, ''), coalesce(gpu_uuid, ''), coalesce(bus_id, '')) as gpu_id,
        max(value) filter (where metric = 'memory_used_mib') as used_mib,
        max(value) filter (where metric = 'memory_total_mib') as total_mib
    from samples
    where metric in ('memory_used_mib', 'memory_total_mib') and t_ns >= $since_ns and t_ns < $until_ns
    group by all
)

select
    h.gpu_id,
    g.gpu_name,
    g.sku,
    h.deployment,
    g.replica,
    make_timestamp(h.from_ns // 1000) as from_at,
    make_timestamp(h.until_ns // 1000) as until_at,
    (h.held_ns / 1e9)::double as held_s,
    ((h.held_ns - h.idle_ns - h.unknown_ns) / 1e9)::double as used_s,
    (h.idle_ns / 1e9)::double as idle_s,
    (h.unknown_ns / 1e9)::double as unknown_s,
    (h.serving_ns / 1e9)::double as serving_s,
    b.cost_usd,
    r.usd_per_hour as usd_per_gpu_hour,
    r.source as price_source,
    m.used_mib as memory_used_mib,
    m.total_mib as memory_total_mib,
    h.until_ns >= (select max(n.until_ns) from held as n) - 900000000000 as still_held,
    g.simulated
from held as h
inner join gpus as g on h.gpu_id = g.gpu_id
left join bills as b on h.gpu_id = b.gpu_id
left join gpu_rates as r on h.gpu_id = r.gpu_id and r.from_ns < h.until_ns and r.to_ns >= h.until_ns
left join memory as m on h.gpu_id = m.gpu_id
order by h.gpu_id
