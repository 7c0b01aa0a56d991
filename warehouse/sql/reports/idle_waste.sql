-- grain: cause (a state that used nothing) x deployment x tool (of between_steps: what was waited for)
-- inputs: gpu_ledger, task_waits, deployment_concurrency, gpus, gpu_rates
-- law: sums to what gpu_ledger holds in these states. unattributed and unknown are not in it: nobody knows that they
-- were idle. Low and high are the least and the most that the same state costs with half, the given and twice the
-- concurrency; null where no price is known, or where concurrency decides nothing
-- params: deployment
with wasted as (
    select quarter_ns, state as cause, deployment, null as tool, gpu_ns, cost_usd
    from gpu_ledger
    where
        state in ('spare', 'no_task', 'unloaded', 'stuck', 'lost', 'cold_start')
        or (state in ('tool_wait', 'between_steps') and deployment is null)
    union all
    select quarter_ns, state, deployment, cause, gpu_ns, cost_usd from task_waits
),

ranged as (
    select cause, deployment, tool, gpu_ns, cost_usd
    from wasted
    where
        quarter_ns >= $since_ns
        and quarter_ns < $until_ns
        and ($deployment is null or deployment = $deployment)
),

limits as (
    select deployment, mode(concurrency) as concurrency
    from deployment_concurrency
    where quarter_ns >= $since_ns and quarter_ns < $until_ns
    group by deployment
),

sources as (
    select gpus.deployment, string_agg(distinct gpu_rates.source, '; ' order by gpu_rates.source) as price_source
    from gpus
    inner join gpu_rates on gpu_rates.gpu_id = gpus.gpu_id
    where gpu_rates.from_ns < $until_ns and gpu_rates.to_ns > $since_ns
    group by gpus.deployment
)

select
    ranged.cause,
    ranged.deployment,
    ranged.tool,
    (sum(ranged.gpu_ns) / 1e9)::double as gpu_s,
    case when bool_and(ranged.cost_usd is not null) then sum(ranged.cost_usd)::decimal(38, 12) end as cost_usd,
    null::decimal(38, 12) as cost_low_usd,
    null::decimal(38, 12) as cost_high_usd,
    any_value(limits.concurrency) as concurrency,
    any_value(sources.price_source) as price_source
from ranged
left join limits on limits.deployment = ranged.deployment
left join sources on sources.deployment is not distinct from ranged.deployment
group by ranged.cause, ranged.deployment, ranged.tool
order by cost_usd desc nulls last, ranged.cause, ranged.deployment, ranged.tool
