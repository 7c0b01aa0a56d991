-- grain: step whose buckets do not sum to its tokens, or not to its money
-- inputs: steps, step_buckets
-- law: per counted step the buckets hold its known input and output, and its token cost to the last 1e-12 USD
select
    s.task_id,
    s.step_id,
    coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0) as tokens,
    coalesce(b.tokens, 0) as bucket_tokens,
    s.token_cost_usd,
    b.token_cost_usd as bucket_cost_usd
from steps as s
left join (
    select task_id, step_id, sum(tokens) as tokens, sum(token_cost_usd) as token_cost_usd
    from step_buckets
    group by task_id, step_id
) as b on s.task_id = b.task_id and s.step_id = b.step_id
where
    s.counted
    and (
        coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0) <> coalesce(b.tokens, 0)
        or (b.tokens > 0 and s.token_cost_usd is distinct from b.token_cost_usd)
    )
