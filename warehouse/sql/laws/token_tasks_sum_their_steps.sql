-- grain: task whose figures are not those of its counted steps
-- inputs: tasks, task_tokens, steps
-- law: one definition of a task's tokens and token cost: the sum of its counted steps
select t.task_id, t.total_tokens, s.tokens, t.token_cost_usd, s.token_cost_usd as step_cost_usd
from tasks as t
left join (
    select
        task_id,
        sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) as tokens,
        sum(token_cost_usd) as token_cost_usd,
        count(*) filter (where kind = 'tool') as tool_calls
    from steps
    where counted
    group by task_id
) as s on t.task_id = s.task_id
where
    coalesce(t.total_tokens, 0) <> coalesce(s.tokens, 0)
    or coalesce(t.token_cost_usd, 0) <> coalesce(s.token_cost_usd, 0)
    or t.tool_calls <> coalesce(s.tool_calls, 0)
