-- One row per counted llm step and bucket: how its tokens and its token money split. Law: sums to the step.
create table step_buckets (
    task_id varchar not null,
    step_id varchar not null,
    bucket varchar not null,
    tokens bigint not null,
    token_cost_usd decimal(38, 12)
)
