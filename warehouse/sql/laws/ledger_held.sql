-- grain: GPU x quarter-hour that breaks it
-- inputs: gpu_ledger, gpu_holds
-- law: the states of a quarter-hour sum to the time held in it; held is read from the holds alone
with told as (
    select gpu_id, quarter_ns, sum(gpu_ns) as ns
    from gpu_ledger
    group by gpu_id, quarter_ns
),

quarters as (
    select
        gpu_id,
        from_ns,
        to_ns,
        unnest(range(from_ns // 900000000000, (to_ns - 1) // 900000000000 + 1)) * 900000000000 as quarter_ns
    from gpu_holds
),

held as (
    select gpu_id, quarter_ns, sum(least(to_ns, quarter_ns + 900000000000) - greatest(from_ns, quarter_ns)) as ns
    from quarters
    group by gpu_id, quarter_ns
)

select
    coalesce(told.gpu_id, held.gpu_id) as gpu_id,
    coalesce(told.quarter_ns, held.quarter_ns) as quarter_ns,
    told.ns as told_ns,
    held.ns as held_ns
from told
full join held on held.gpu_id = told.gpu_id and held.quarter_ns = told.quarter_ns
where told.ns is distinct from held.ns
