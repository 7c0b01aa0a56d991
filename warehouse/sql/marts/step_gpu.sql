-- grain: step x quarter-hour
-- inputs: ledger_paid
-- law: per (deployment, quarter-hour) gpu_ns and cost_usd sum to serving in gpu_ledger
insert into step_gpu by name
select
    quarter_ns,
    deployment,
    task_id,
    step_id,
    gpu_ns,
    pico_usd::decimal(26, 0) * 0.000000000001::decimal(12, 12) as cost_usd
from ledger_paid
where state = 'serving'
