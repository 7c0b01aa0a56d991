-- grain: GPU (or deployment, with group_by=deployment) x quarter-hour x state x cause x provenance
-- inputs: gpu_ledger, gpus, gpu_rates, task_tokens, setting
-- law: gpu_s sums to the time held, cost_usd to its bill; a cost is null where any part of it has no price
-- params: group_by=gpu, gpu_id, deployment
with open_tasks as (
    select min(start_ns) as first_ns from task_tokens where is_open
),

-- where the price of a card stands, per quarter-hour
sources as (
    select
        paid.gpu_id,
        paid.quarter_ns,
        list(distinct gpu_rates.source) as price_sources
    from (select distinct gpu_id, quarter_ns from gpu_ledger) as paid
    inner join gpu_rates
        on
            gpu_rates.gpu_id = paid.gpu_id
            and gpu_rates.from_ns < paid.quarter_ns + 900000000000
            and gpu_rates.to_ns > paid.quarter_ns
    where paid.quarter_ns >= $since_ns and paid.quarter_ns < $until_ns
    group by paid.gpu_id, paid.quarter_ns
),

chosen as (
    select
        gpu_ledger.*,
        gpus.sku,
        gpus.replica,
        sources.price_sources
    from gpu_ledger
    left join gpus on gpus.gpu_id = gpu_ledger.gpu_id
    left join sources on sources.gpu_id = gpu_ledger.gpu_id and sources.quarter_ns = gpu_ledger.quarter_ns
    where
        gpu_ledger.quarter_ns >= $since_ns
        and gpu_ledger.quarter_ns < $until_ns
        and ($gpu_id is null or gpu_ledger.gpu_id = $gpu_id)
        and ($deployment is null or gpu_ledger.deployment = $deployment)
)

select
    make_timestamp(quarter_ns // 1000) as quarter_at,
    case when $group_by = 'gpu' then gpu_id end as gpu_id,
    deployment,
    case when $group_by = 'gpu' then replica end as replica,
    case when $group_by = 'gpu' then sku end as sku,
    state,
    cause,
    provenance,
    (sum(gpu_ns) / 1e9)::double as gpu_s,
    case when bool_and(cost_usd is not null) then sum(cost_usd)::decimal(38, 12) end as cost_usd,
    -- young rows, and rows of an hour in which a task is still open
    quarter_ns + 900000000000 + (select settle_ns from setting) > (select now_ns from setting)
    or coalesce(
        quarter_ns // 3600000000000 * 3600000000000 + 3600000000000 > (select first_ns from open_tasks), false
    ) as provisional,
    nullif(array_to_string(list_sort(list_distinct(flatten(list(price_sources)))), '; '), '') as price_source
from chosen
group by all
order by all
