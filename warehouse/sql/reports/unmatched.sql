-- grain: reason x deployment x provider x model
-- inputs: steps, deployments
-- law: counted calls that neither a token price nor a GPU pays
select
    case
        when steps.deployment is null then 'no deployment and no token price'
        when deployments.deployment is null then 'its deployment is not in the settings'
        else 'its deployment has no GPUs'
    end as reason,
    steps.deployment,
    steps.provider,
    steps.model,
    count(*) as calls,
    count(distinct steps.task_id) as tasks,
    (sum(steps.end_ns - steps.start_ns) filter (where not coalesce(steps.is_untimed, false)) / 1e9)::double as duration_s,
    make_timestamp(min(steps.start_ns) // 1000) as first_at,
    make_timestamp(max(steps.end_ns) // 1000) as last_at
from steps
left join deployments on deployments.deployment = steps.deployment
where
    steps.counted
    and steps.kind in ('llm', 'embedding')
    and steps.token_cost_usd is null
    and steps.price_source is null
    and coalesce(deployments.gpus, 0) = 0
    and steps.start_ns >= $since_ns
    and steps.start_ns < $until_ns
group by all
order by calls desc, reason, steps.deployment, steps.provider, steps.model
