-- grain: GPU x quarter-hour x state x cause x provenance, of the dirty quarter-hours
-- inputs: gpu_timeline, gpu_rates, dirty_quarters
-- law: top-down at 1e-12 USD: the bill of the quarter-hour is floored into states, the rest goes to the largest
-- remainders. Where any of the time has no price, the quarter-hour has none
create or replace temp table ledger_bills as
with priced as (
    select
        timeline.quarter_ns,
        timeline.gpu_id,
        timeline.deployment,
        timeline.state,
        timeline.cause,
        timeline.provenance,
        timeline.to_ns - timeline.from_ns as gpu_ns,
        case
            when rates.gpu_id is null then 0 -- least() would skip the nulls
            else least(timeline.to_ns, rates.to_ns) - greatest(timeline.from_ns, rates.from_ns)
        end as priced_ns,
        (rates.usd_per_hour * 1000000)::bigint as micro_usd,
        row_number() over (
            partition by timeline.quarter_ns, timeline.gpu_id, timeline.from_ns order by rates.from_ns
        ) as turn
    from gpu_timeline as timeline
    semi join dirty_quarters using (quarter_ns)
    left join gpu_rates as rates
        on rates.gpu_id = timeline.gpu_id
        and rates.from_ns < timeline.to_ns
        and rates.to_ns > timeline.from_ns
),

states as (
    select
        quarter_ns,
        gpu_id,
        deployment,
        state,
        cause,
        provenance,
        sum(case when turn = 1 then gpu_ns end)::bigint as gpu_ns,
        sum(coalesce(priced_ns, 0))::bigint as priced_ns,
        -- of a millionth of a USD per hour times a ns, 3,600,000 are 1e-12 USD
        sum(coalesce(priced_ns, 0)::hugeint * coalesce(micro_usd, 0)) as money
    from priced
    group by all
),

floored as (
    select
        *,
        money // 3600000 as pico_usd,
        money % 3600000 as remainder,
        sum(gpu_ns) over bill = sum(priced_ns) over bill as is_priced,
        (sum(money) over bill + 1800000) // 3600000 as bill_pico_usd
    from states
    window bill as (partition by quarter_ns, gpu_id)
),

ranked as (
    select
        *,
        bill_pico_usd - sum(pico_usd) over (partition by quarter_ns, gpu_id) as rest,
        row_number() over (
            partition by quarter_ns, gpu_id
            order by remainder desc, state, cause nulls first, provenance
        ) as place
    from floored
)

select
    quarter_ns,
    gpu_id,
    deployment,
    state,
    cause,
    provenance,
    gpu_ns,
    case when is_priced then pico_usd + (place <= rest)::integer end as pico_usd
from ranked
