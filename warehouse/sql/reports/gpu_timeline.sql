-- grain: GPU x unbroken stretch in one state, clipped to the range
-- inputs: gpu_timeline
-- law: tiles the held time of each GPU; a stretch is also cut at quarter-hours
-- params: gpu_id, deployment
select
    gpu_id,
    deployment,
    replica,
    state,
    cause,
    provenance,
    stalled,
    make_timestamp(greatest(from_ns, $since_ns) // 1000) as started_at,
    make_timestamp(least(to_ns, $until_ns) // 1000) as ended_at,
    ((least(to_ns, $until_ns) - greatest(from_ns, $since_ns)) / 1e9)::double as duration_s
from gpu_timeline
where
    -- quarter-hours first: they prune what is read
    quarter_ns > $since_ns - 900000000000
    and quarter_ns < $until_ns
    and from_ns < $until_ns
    and to_ns > $since_ns
    and ($gpu_id is null or gpu_id = $gpu_id)
    and ($deployment is null or deployment = $deployment)
order by gpu_id, from_ns
