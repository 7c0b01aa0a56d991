-- grain: GPU x quarter-hour, as the refresh before left it
-- inputs: gpu_ledger
-- law: cost_usd is what is known of it; unknown_costs counts the rows that have none
create or replace temp table reprice_gpus_before as
select
    gpu_id,
    quarter_ns,
    sum(cost_usd)::decimal(38, 12) as cost_usd,
    count(*) filter (where cost_usd is null) as unknown_costs
from gpu_ledger
group by gpu_id, quarter_ns
