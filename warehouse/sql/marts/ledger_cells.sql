-- grain: dirty quarter-hour x deployment x state that tasks pay
-- inputs: ledger_bills
-- law: cost is unknown where any GPU's part of it is
create or replace temp table ledger_cells as
select
    quarter_ns,
    deployment,
    state,
    sum(gpu_ns)::bigint as gpu_ns,
    case when bool_and(pico_usd is not null) then sum(pico_usd) end as pico_usd
from ledger_bills
where deployment is not null and state in ('serving', 'tool_wait', 'between_steps')
group by quarter_ns, deployment, state
