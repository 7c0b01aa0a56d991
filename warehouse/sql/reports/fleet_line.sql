-- grain: deployment x instant at which its number of replicas changed
-- inputs: gpu_timeline
-- law: held counts replicas of which a card was paid; ready those of which no card was starting or
--      lost; both hold until the next row of the deployment
-- params: deployment
with
stretches as (
    select
        deployment,
        replica,
        state,
        greatest(from_ns, $since_ns) as from_ns,
        least(to_ns, $until_ns) as to_ns
    from gpu_timeline
    where
        deployment is not null
        and quarter_ns > $since_ns - 900000000000
        and quarter_ns < $until_ns
        and from_ns < $until_ns
        and to_ns > $since_ns
        and ($deployment is null or deployment = $deployment)
),

edges as (
    select deployment, replica, from_ns as t_ns, 1 as held, (state in ('cold_start', 'lost'))::integer as away
    from stretches
    union all
    select deployment, replica, to_ns, -1, -(state in ('cold_start', 'lost'))::integer
    from stretches
),

standing as (
    select
        deployment,
        replica,
        t_ns,
        (sum(sum(held)) over (partition by deployment, replica order by t_ns) > 0)::integer as held,
        (sum(sum(away)) over (partition by deployment, replica order by t_ns) > 0)::integer as away
    from edges
    group by deployment, replica, t_ns
),

steps_of_line as (
    select
        deployment,
        t_ns,
        held - coalesce(lag(held) over of_replica, 0) as held,
        least(held, 1 - away) - coalesce(lag(least(held, 1 - away)) over of_replica, 0) as ready
    from standing
    window of_replica as (partition by deployment, replica order by t_ns)
),

line as (
    select
        deployment,
        t_ns,
        sum(sum(held)) over (partition by deployment order by t_ns) as held,
        sum(sum(ready)) over (partition by deployment order by t_ns) as ready
    from steps_of_line
    group by deployment, t_ns
)

select deployment, make_timestamp(t_ns // 1000) as at, held::bigint as held, ready::bigint as ready
from line
qualify
    held is distinct from lag(held) over (partition by deployment order by t_ns)
    or ready is distinct from lag(ready) over (partition by deployment order by t_ns)
order by deployment, t_ns
