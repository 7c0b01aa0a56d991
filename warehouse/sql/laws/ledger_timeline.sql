-- grain: GPU x quarter-hour x state that breaks it
-- inputs: gpu_timeline, gpu_ledger
-- law: the stretches of the time line never overlap, and sum to the ledger state by state
with told as (
    select gpu_id, quarter_ns, state, sum(to_ns - from_ns) as ns from gpu_timeline group by gpu_id, quarter_ns, state
),

booked as (
    select gpu_id, quarter_ns, state, sum(gpu_ns) as ns from gpu_ledger group by gpu_id, quarter_ns, state
)

select
    coalesce(told.gpu_id, booked.gpu_id) as gpu_id,
    coalesce(told.quarter_ns, booked.quarter_ns) as quarter_ns,
    coalesce(told.state, booked.state) as state,
    told.ns as told_ns,
    booked.ns as booked_ns
from told
full join booked
    on booked.gpu_id = told.gpu_id and booked.quarter_ns = told.quarter_ns and booked.state = told.state
where told.ns is distinct from booked.ns
union all
select gpu_id, quarter_ns, state, from_ns, to_ns
from gpu_timeline
qualify from_ns < lag(to_ns) over (partition by gpu_id order by from_ns, to_ns)
