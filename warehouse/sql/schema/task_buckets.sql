-- One row per task and bucket, after the ledger: tokens, token money and GPU money. gpu_wait holds the waits.
-- Law: tokens sum to total_tokens, cost_usd to total_cost_usd of the task.
create table task_buckets (
    task_id varchar not null,
    bucket varchar not null,
    tokens bigint not null,
    token_cost_usd decimal(38, 12),
    gpu_cost_usd decimal(38, 12),
    cost_usd decimal(38, 12)
)
