-- grain: deployment that the settings give GPUs
-- inputs: deployments, steps
-- law: first start to last end of what occupied it; no row where nothing did
create or replace temp table deployment_use as
select
    steps.deployment,
    min(steps.busy_start_ns) as first_ns,
    max(steps.busy_end_ns) as last_ns,
    bool_or(steps.simulated) as simulated
from steps
where
    steps.busy_start_ns < steps.busy_end_ns
    and steps.counted
    and steps.is_leaf
    and steps.deployment in (select deployments.deployment from deployments where deployments.gpus > 0)
group by steps.deployment
