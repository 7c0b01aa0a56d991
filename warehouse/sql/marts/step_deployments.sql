-- grain: one row per counted model call or embedding that a deployment served
-- inputs: step_figures, deployment_names, deployments
-- law: an attribute that names the deployment decides, else the server's address (of several views the innermost
--      that is known), else the model's name by glob; of several globs the longest
create or replace temp table step_deployments as
with
by_address as (
    select
        c.node,
        arg_min(n.deployment, lpad(a.position::varchar, 5, '0') || n.deployment) as deployment
    from step_figures as c
    cross join lateral (select unnest(c.addresses) as address, generate_subscripts(c.addresses, 1) as position) as a
    inner join deployment_names as n on n.kind = 'address' and a.address = n.pattern
    group by c.node
),

models as (
    select distinct unnest([model_response, model_requested]) as model
    from step_figures
),

by_model as (
    select
        m.model,
        arg_min(n.deployment, lpad((10000 - length(n.pattern))::varchar, 5, '0') || n.deployment) as deployment
    from models as m
    inner join deployment_names as n on n.kind = 'model' and m.model glob n.pattern
    group by m.model
),

found as (
    select
        c.node,
        coalesce(c.deployment, a.deployment, r.deployment, q.deployment) as deployment,
        c.replica
    from step_figures as c
    left join by_address as a on c.node = a.node
    left join by_model as r on c.model_response = r.model
    left join by_model as q on c.model_requested = q.model
)

select f.node, f.deployment, f.replica, coalesce(d.gpus, 0) > 0 as has_gpus
from found as f
left join deployments as d on f.deployment = d.deployment
where f.deployment is not null
