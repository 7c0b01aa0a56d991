-- grain: model x price source before and after, of steps whose cost or source changes; SKU x deployment, of GPUs whose
--        money changes
-- inputs: reprice_before, steps, reprice_gpus_before, gpu_ledger, gpus
-- law: old and new sum what is known of what changes; what is not is counted beside it, never as 0. The difference is
--      that of what is known before and after. A GPU's money may be in steps and waits too: it is one bill, told once
with
tokens as (
    select
        'tokens' as paid_by,
        s.provider,
        s.model as priced,
        null as deployment,
        b.price_source as old_price_source,
        s.price_source as new_price_source,
        count(*) as changed_rows,
        sum(b.token_cost_usd)::decimal(38, 12) as old_cost_usd,
        sum(s.token_cost_usd)::decimal(38, 12) as new_cost_usd,
        sum(s.token_cost_usd - b.token_cost_usd)::decimal(38, 12) as difference_usd,
        count(*) filter (where b.token_cost_usd is null) as old_unknown_costs,
        count(*) filter (where s.token_cost_usd is null) as new_unknown_costs
    from reprice_before as b
    inner join steps as s on b.step_id = s.step_id
    where
        b.token_cost_usd is distinct from s.token_cost_usd
        or b.price_source is distinct from s.price_source
    group by all
),

bills as (
    select
        gpu_id,
        quarter_ns,
        sum(cost_usd)::decimal(38, 12) as cost_usd,
        count(*) filter (where cost_usd is null) as unknown_costs
    from gpu_ledger
    group by gpu_id, quarter_ns
),

seconds as (
    select
        'gpu' as paid_by,
        null as provider,
        g.sku as priced,
        g.deployment,
        null as old_price_source,
        null as new_price_source,
        count(*) as changed_rows,
        sum(b.cost_usd)::decimal(38, 12) as old_cost_usd,
        sum(a.cost_usd)::decimal(38, 12) as new_cost_usd,
        sum(a.cost_usd - b.cost_usd)::decimal(38, 12) as difference_usd,
        sum(b.unknown_costs)::bigint as old_unknown_costs,
        sum(a.unknown_costs)::bigint as new_unknown_costs
    from reprice_gpus_before as b
    inner join bills as a on b.gpu_id = a.gpu_id and b.quarter_ns = a.quarter_ns
    inner join gpus as g on b.gpu_id = g.gpu_id
    where b.cost_usd is distinct from a.cost_usd
    group by g.sku, g.deployment
)

select *
from (
    select * from tokens
    union all
    select * from seconds
)
order by paid_by, abs(difference_usd) desc nulls first, priced, deployment, provider, old_price_source
