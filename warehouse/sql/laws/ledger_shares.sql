-- grain: deployment x quarter-hour x paid state that breaks it
-- inputs: gpu_ledger, step_gpu, task_waits
-- law: what steps and waiting tasks pay sums to the state's time and cost. A step that nothing could serve pays no
-- time and an unknown price; a state whose cost is unknown is paid by nobody
with owed as (
    select
        quarter_ns,
        deployment,
        state,
        sum(gpu_ns) as ns,
        case when bool_and(cost_usd is not null) then sum(cost_usd) end as usd
    from gpu_ledger
    where deployment is not null and state in ('serving', 'tool_wait', 'between_steps')
    group by quarter_ns, deployment, state
),

claims as (
    select quarter_ns, deployment, 'serving' as state, gpu_ns, cost_usd from step_gpu where gpu_ns > 0 or cost_usd > 0
    union all
    select quarter_ns, deployment, state, gpu_ns, cost_usd from task_waits
),

paid as (
    select
        quarter_ns,
        deployment,
        state,
        sum(gpu_ns) as ns,
        case when bool_and(cost_usd is not null) then sum(cost_usd) end as usd
    from claims
    group by quarter_ns, deployment, state
)

select
    coalesce(owed.quarter_ns, paid.quarter_ns) as quarter_ns,
    coalesce(owed.deployment, paid.deployment) as deployment,
    coalesce(owed.state, paid.state) as state,
    owed.ns as owed_ns,
    paid.ns as paid_ns,
    owed.usd as owed_usd,
    paid.usd as paid_usd
from owed
full join paid
    on paid.quarter_ns = owed.quarter_ns and paid.deployment = owed.deployment and paid.state = owed.state
where owed.ns is distinct from paid.ns or owed.usd is distinct from paid.usd
