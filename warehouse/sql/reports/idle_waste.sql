-- grain: cause (a state that used nothing) x deployment x tool (of between_steps: what was waited for)
-- inputs: gpu_ledger, task_waits, deployment_concurrency, concurrency_bands, gpus, gpu_rates
-- law: sums to what gpu_ledger holds in these states. unattributed and unknown are not in it: nobody knows that they
-- were idle. Low and high are the least and the most that the same state costs with half, the given and twice the
-- concurrency, over tools in the proportion that they have with the given one; null where no price is known. A state
-- that only another concurrency would make has a row that costs nothing, with its high
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
    select
        cause,
        deployment,
        tool,
        (sum(gpu_ns) / 1e9)::double as gpu_s,
        case when bool_and(cost_usd is not null) then sum(cost_usd)::decimal(38, 12) end as cost_usd
    from wasted
    where
        quarter_ns >= $since_ns
        and quarter_ns < $until_ns
        and ($deployment is null or deployment = $deployment)
    group by cause, deployment, tool
),

-- what each state costs with another concurrency; unknown where any quarter-hour of the deployment has no price
bands as (
    select
        kept.deployment,
        states.state as cause,
        kept.band,
        coalesce(sum(held.cost_usd), 0)::decimal(38, 12) as cost_usd,
        bool_or(kept.is_unpriced) as is_unpriced
    from (
        select deployment, quarter_ns, band, bool_or(cost_usd is null) as is_unpriced
        from concurrency_bands
        where
            quarter_ns >= $since_ns
            and quarter_ns < $until_ns
            and ($deployment is null or deployment = $deployment)
        group by deployment, quarter_ns, band
    ) as kept
    cross join (select unnest(['spare', 'tool_wait', 'between_steps', 'unloaded', 'stuck']) as state) as states
    left join concurrency_bands as held
        on held.deployment = kept.deployment
        and held.quarter_ns = kept.quarter_ns
        and held.band = kept.band
        and held.state = states.state
    group by kept.deployment, states.state, kept.band
),

ranges as (
    select
        deployment,
        cause,
        case when not bool_or(is_unpriced) then min(cost_usd) end as least_usd,
        case when not bool_or(is_unpriced) then max(cost_usd) end as most_usd
    from bands
    group by deployment, cause
),

listed as (
    select cause, deployment, tool, gpu_s, cost_usd from ranged
    union all
    select cause, deployment, null, 0, 0
    from ranges
    where most_usd > 0
    and not exists (
        select 1 from ranged where ranged.cause = ranges.cause and ranged.deployment = ranges.deployment
    )
),

shared as (
    select
        listed.*,
        ranges.cause is not null as is_banded,
        ranges.least_usd,
        ranges.most_usd,
        sum(listed.cost_usd) over state as state_usd,
        bool_and(listed.cost_usd is not null) over state as is_priced,
        count(*) over state as state_rows
    from listed
    left join ranges on ranges.deployment = listed.deployment and ranges.cause = listed.cause
    window state as (partition by listed.cause, listed.deployment)
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
    shared.cause,
    shared.deployment,
    shared.tool,
    shared.gpu_s,
    shared.cost_usd,
    case
        when not shared.is_banded then shared.cost_usd
        when not shared.is_priced or shared.least_usd is null then null
        when shared.state_rows = 1 then least(shared.cost_usd, shared.least_usd)
        when shared.state_usd = 0 then 0
        else shared.cost_usd
            * (least(shared.state_usd, shared.least_usd)::double / shared.state_usd::double)::decimal(18, 12)
    end::decimal(38, 12) as cost_low_usd,
    case
        when not shared.is_banded then shared.cost_usd
        when not shared.is_priced or shared.most_usd is null then null
        when shared.state_rows = 1 then greatest(shared.cost_usd, shared.most_usd)
        when shared.state_usd = 0 then shared.most_usd / shared.state_rows
        else (
            shared.cost_usd::double * (greatest(shared.state_usd, shared.most_usd)::double / shared.state_usd::double)
        )
    end::decimal(38, 12) as cost_high_usd,
    limits.concurrency,
    sources.price_source
from shared
left join limits on limits.deployment = shared.deployment
left join sources on sources.deployment is not distinct from shared.deployment
order by shared.cost_usd desc nulls last, shared.cause, shared.deployment, shared.tool
