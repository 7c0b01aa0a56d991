-- grain: one row per counted model call or embedding row
-- inputs: step_prices
-- law: exact at 1e-18 USD, then rounded half to even at 1e-12; low and high are those of the two readings of the
--      input. No tokens cost nothing whatever the price; unknown tokens or no price have no cost, never 0
create or replace temp table step_costs as
with
exact as (
    select
        node,
        is_declared,
        paid_by,
        source,
        known_ns,
        price_id,
        case
            when input_tokens = 0 and output_tokens = 0 then 0
            when paid_by <> 'tokens' then 0
            else
                (input_tokens - read_tokens - write_tokens)::decimal(13, 0) * input_usd
                + read_tokens::decimal(13, 0) * cache_read_usd
                + (write_tokens - write_1h_tokens)::decimal(13, 0) * cache_write_usd
                + write_1h_tokens::decimal(13, 0) * cache_write_1h_usd
                + output_tokens::decimal(13, 0) * output_usd
        end::decimal(38, 18) as cost_usd
    from step_prices
),

halved as (
    select *, cost_usd::decimal(38, 12) as up_usd, 0.000000000001::decimal(38, 12) as unit_usd
    from exact
),

rounded as (
    select
        node,
        is_declared,
        paid_by,
        source,
        known_ns,
        price_id,
        -- The cast rounds a half up; a half that met an odd digit goes back to the even one.
        case
            when
                up_usd::decimal(38, 18) - cost_usd = 0.0000000000005
                and (up_usd::decimal(38, 18) * 1000000 * 1000000)::hugeint % 2 = 1
                then (up_usd - unit_usd)::decimal(38, 12)
            else up_usd
        end as cost_usd
    from halved
)

select
    node,
    any_value(paid_by) as paid_by,
    max(source) filter (where is_declared) as source,
    max(known_ns) filter (where is_declared) as known_ns,
    max(price_id) filter (where is_declared) as price_id,
    max(cost_usd) filter (where is_declared) as cost_usd,
    min(cost_usd) as low_usd,
    max(cost_usd) as high_usd
from rounded
group by node
