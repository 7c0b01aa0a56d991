-- grain: GPU x quarter-hour that breaks it
-- inputs: gpu_ledger, gpu_holds, gpu_rates
-- law: the cost of a quarter-hour is its held time x price, rounded once to 1e-12 USD; unknown where any of it has no
-- price
with quarters as (
    select
        gpu_id,
        from_ns,
        to_ns,
        unnest(range(from_ns // 900000000000, (to_ns - 1) // 900000000000 + 1)) * 900000000000 as quarter_ns
    from gpu_holds
),

held as (
    select
        gpu_id,
        quarter_ns,
        greatest(from_ns, quarter_ns) as from_ns,
        least(to_ns, quarter_ns + 900000000000) as to_ns
    from quarters
),

priced as (
    select
        held.gpu_id,
        held.quarter_ns,
        held.to_ns - held.from_ns as held_ns,
        -- least() would skip the nulls of a join that found no price
        sum(least(held.to_ns, rates.to_ns) - greatest(held.from_ns, rates.from_ns))
            filter (where rates.gpu_id is not null) as priced_ns,
        sum(
            (least(held.to_ns, rates.to_ns) - greatest(held.from_ns, rates.from_ns))::hugeint
            * (rates.usd_per_hour * 1000000)::bigint
        ) as money
    from held
    left join gpu_rates as rates
        on rates.gpu_id = held.gpu_id and rates.from_ns < held.to_ns and rates.to_ns > held.from_ns
    group by held.gpu_id, held.quarter_ns, held.from_ns, held.to_ns
),

bills as (
    select
        gpu_id,
        quarter_ns,
        case
            when sum(coalesce(priced_ns, 0)) = sum(held_ns)
                then ((sum(money) + 1800000) // 3600000)::decimal(26, 0) * 0.000000000001::decimal(12, 12)
        end as cost_usd
    from priced
    group by gpu_id, quarter_ns
),

told as (
    select
        gpu_id,
        quarter_ns,
        case when bool_and(cost_usd is not null) then sum(cost_usd) end as cost_usd
    from gpu_ledger
    group by gpu_id, quarter_ns
)

select bills.gpu_id, bills.quarter_ns, told.cost_usd as told_usd, bills.cost_usd as billed_usd
from bills
left join told on told.gpu_id = bills.gpu_id and told.quarter_ns = bills.quarter_ns
where told.cost_usd is distinct from bills.cost_usd
