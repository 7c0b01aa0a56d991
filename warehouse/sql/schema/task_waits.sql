-- One row per task, quarter-hour, deployment, waiting state and tool: the waiting GPUs charged to it.
-- Law: per (deployment, quarter-hour, state) cost_usd sums to that state's cost in gpu_ledger.
create table task_waits (
    quarter_ns bigint not null,
    deployment varchar not null,
    task_id varchar not null,
    state varchar not null, -- tool_wait or between_steps
    cause varchar, -- tool name, or orchestrator, other_model, person
    gpu_ns bigint not null,
    cost_usd decimal(38, 12)
)
