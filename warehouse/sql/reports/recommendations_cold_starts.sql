-- grain: deployment whose cards were seen to start
-- inputs: gpu_timeline
-- law: a cold start is one unbroken stretch of a card in that state which ended in the range; starts of the cards of one
--      replica count each. Percentiles are unweighted
-- params: deployment
with
stretches as (
    select
        deployment,
        gpu_id,
        from_ns,
        to_ns,
        coalesce(from_ns > lag(to_ns) over (partition by gpu_id order by from_ns), true) as begins
    from gpu_timeline
    where state = 'cold_start' and deployment is not null and ($deployment is null or deployment = $deployment)
),

numbered as (
    select *, sum(begins::integer) over (partition by gpu_id order by from_ns) as start
    from stretches
),

starts as (
    select deployment, gpu_id, start, (max(to_ns) - min(from_ns)) / 1e9 as took_s, max(to_ns) as until_ns
    from numbered
    group by deployment, gpu_id, start
)

select
    deployment,
    count(*) as cold_starts,
    quantile_cont(took_s, 0.5)::double as cold_start_p50_s,
    quantile_cont(took_s, 0.95)::double as cold_start_p95_s
from starts
where until_ns >= $since_ns and until_ns < $until_ns
group by deployment
order by deployment
