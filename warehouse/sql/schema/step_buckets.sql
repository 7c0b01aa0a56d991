-- One row per counted llm or embedding step and bucket: how its tokens and its token money split. Law: sums to the
-- step. cached_tokens: those of tokens that a cache served; null where the source does not tell.
create table step_buckets (
    task_id varchar not null,
    step_id varchar not null,
    bucket varchar not null,
    tokens bigint not null,
    cached_tokens bigint,
    token_cost_usd decimal(38, 12)
)
