-- grain: task whose multiplier is not what its buckets say
-- inputs: tasks, task_buckets, task_tokens
-- law: multiplier = all buckets over first prompt and answer; one call that was tried once and stands alone is 1
select t.task_id, t.token_multiplier, b.tokens / nullif(b.single_tokens, 0) as token_ratio, t.cost_multiplier
from tasks as t
inner join task_tokens as k on t.task_id = k.task_id
left join (
    select
        task_id,
        sum(tokens) as tokens,
        sum(tokens) filter (where bucket in ('first_prompt', 'answer')) as single_tokens,
        sum(cost_usd) as cost_usd,
        sum(cost_usd) filter (where bucket in ('first_prompt', 'answer')) as single_usd
    from task_buckets
    group by task_id
) as b on t.task_id = b.task_id
where
    abs(t.token_multiplier - b.tokens / nullif(b.single_tokens, 0)) > 1e-9 * t.token_multiplier
    or abs(t.cost_multiplier - b.cost_usd::double / nullif(b.single_usd, 0)::double) > 1e-9 * t.cost_multiplier
    or (t.llm_calls = 1 and t.session is null and t.steps = 1 and t.token_multiplier <> 1)
    or t.token_multiplier < 1
