-- grain: dirty quarter-hour x deployment x band (half or double concurrency) x state
-- inputs: ledger_band_loads, ledger_laid, ledger_pools, gpu_ledger, dirty_quarters
-- law: a band's states sum to what gpu_ledger holds of the deployment. Unknown where any of that has no price
insert into concurrency_bands by name
with unpriced as (
    select distinct quarter_ns, deployment
    from gpu_ledger
    semi join dirty_quarters using (quarter_ns)
    where cost_usd is null and deployment is not null
),

summed as (
    select
        loads.quarter_ns,
        ledger_pools.deployment,
        loads.band,
        loads.concurrency,
        laid.state,
        sum(loads.length_ns * laid.gpus)::bigint as gpu_ns,
        -- of a millionth of a USD per hour times a ns, 3,600,000 are 1e-12 USD
        (sum(loads.length_ns::hugeint * laid.micro_usd) + 1800000) // 3600000 as pico_usd
    from ledger_band_loads as loads
    inner join ledger_laid as laid on laid.load = loads.load
    inner join ledger_pools on ledger_pools.pool = loads.pool
    group by all
)

select
    summed.* exclude (pico_usd),
    case
        when unpriced.deployment is null then summed.pico_usd::decimal(26, 0) * 0.000000000001::decimal(12, 12)
    end as cost_usd
from summed
left join unpriced on unpriced.quarter_ns = summed.quarter_ns and unpriced.deployment = summed.deployment
