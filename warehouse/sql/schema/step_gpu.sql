-- One row per step and quarter-hour: its share of the serving time and money of its deployment.
-- Law: per (deployment, quarter-hour) cost_usd sums to the serving cost of gpu_ledger.
create table step_gpu (
    quarter_ns bigint not null,
    deployment varchar not null,
    task_id varchar not null,
    step_id varchar not null,
    gpu_ns bigint not null,
    cost_usd decimal(38, 12)
)
