-- grain: model x price source before and after, of steps whose cost or source changes
-- inputs: reprice_before, steps
-- law: old and new sum over the changed steps what is known; what is not is counted beside it, never as 0. The
--      difference is that of the steps whose cost is known before and after
select
    s.provider,
    s.model,
    b.price_source as old_price_source,
    s.price_source as new_price_source,
    count(*) as steps,
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
order by abs(difference_usd) desc nulls first, s.model, s.provider, old_price_source, new_price_source
