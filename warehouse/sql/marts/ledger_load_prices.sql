-- grain: load
-- inputs: ledger_loads, ledger_laid
-- law: GPUs and millionths of a USD per hour that serve, wait for tools and wait otherwise; zeros where none is laid
create or replace temp table ledger_load_prices as
select
    loads.load,
    coalesce(sum(laid.gpus) filter (where laid.state = 'serving'), 0)::double as serving_gpus,
    coalesce(sum(laid.micro_usd) filter (where laid.state = 'serving'), 0)::double as serving_micro_usd,
    coalesce(sum(laid.gpus) filter (where laid.state = 'tool_wait'), 0)::double as tool_gpus,
    coalesce(sum(laid.micro_usd) filter (where laid.state = 'tool_wait'), 0)::double as tool_micro_usd,
    coalesce(sum(laid.gpus) filter (where laid.state = 'between_steps'), 0)::double as between_gpus,
    coalesce(sum(laid.micro_usd) filter (where laid.state = 'between_steps'), 0)::double as between_micro_usd
from (select distinct load from ledger_loads where length_ns > 0) as loads
left join ledger_laid as laid on laid.load = loads.load
group by loads.load
