-- grain: task x quarter-hour x deployment x waiting state x cause
-- inputs: ledger_paid
-- law: per (deployment, quarter-hour, state) gpu_ns and cost_usd sum to that state in gpu_ledger
insert into task_waits by name
select
    quarter_ns,
    deployment,
    task_id,
    state,
    cause,
    gpu_ns,
    pico_usd::decimal(26, 0) * 0.000000000001::decimal(12, 12) as cost_usd
from ledger_paid
where state in ('tool_wait', 'between_steps')
