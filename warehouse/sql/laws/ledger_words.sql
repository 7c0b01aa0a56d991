-- grain: row that breaks it
-- inputs: gpu_ledger, step_gpu, task_waits
-- law: nothing is negative, every state and provenance is a known word, and causes stand where causes belong
select gpu_id as who, quarter_ns, state, gpu_ns, cost_usd
from gpu_ledger
where
    gpu_ns <= 0
    or cost_usd < 0
    or state not in (
        'lost', 'serving', 'cold_start', 'unknown', 'stuck', 'unattributed', 'unloaded', 'tool_wait', 'between_steps',
        'spare', 'no_task'
    )
    or provenance not in ('measured', 'estimated', 'simulated', 'unknown')
    or (state in ('tool_wait', 'between_steps')) != (cause is not null)
    or quarter_ns % 900000000000 != 0
union all
select step_id, quarter_ns, 'serving', gpu_ns, cost_usd from step_gpu where gpu_ns < 0 or cost_usd < 0
union all
select task_id, quarter_ns, state, gpu_ns, cost_usd
from task_waits
where gpu_ns < 0 or cost_usd < 0 or state not in ('tool_wait', 'between_steps') or cause is null
