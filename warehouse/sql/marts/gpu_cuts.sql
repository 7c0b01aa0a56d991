-- grain: card that is or was cut into slices x stretch of time, half-open, in which the same slices are there
-- inputs: gpus, gpu_seen
-- law: stretches of one card tile all of time; taken is how many of its seven compute slices are somebody's, null where
-- a slice does not tell its size
create or replace temp table gpu_cuts as
with slices as (
    select card.gpu_id, gpus.slices, seen.from_ns, seen.to_ns
    from gpus
    inner join gpus as card on card.gpu_uuid = gpus.parent_uuid and card.parent_uuid is null
    inner join gpu_seen as seen on seen.gpu_id = gpus.gpu_id
    where seen.from_ns < seen.to_ns
),

edges as (
    select gpu_id, 0::bigint as t_ns, 0 as slices, 0 as unsized, 0 as there from slices group by gpu_id
    union all
    select gpu_id, from_ns, coalesce(slices, 0), (slices is null)::integer, 1 from slices
    union all
    select gpu_id, to_ns, -coalesce(slices, 0), -(slices is null)::integer, -1 from slices
),

moments as (
    select gpu_id, t_ns, sum(slices) as slices, sum(unsized) as unsized, sum(there) as there
    from edges
    group by gpu_id, t_ns
)

select
    gpu_id,
    t_ns as from_ns,
    lead(t_ns, 1, 9223372036854775807) over moment as to_ns,
    case when sum(unsized) over moment = 0 then (sum(slices) over moment)::integer end as taken,
    (sum(there) over moment)::integer as slices_there
from moments
window moment as (partition by gpu_id order by t_ns)
