-- grain: task whose buckets do not sum to its tokens, or not to its total cost
-- inputs: tasks, task_buckets
-- law: per task the buckets hold all of its tokens and all of its known money
select
    t.task_id,
    t.total_tokens,
    b.tokens,
    t.total_cost_usd,
    b.cost_usd
from tasks as t
left join (
    select task_id, sum(tokens) as tokens, sum(cost_usd) as cost_usd
    from task_buckets
    group by task_id
) as b on t.task_id = b.task_id
where
    coalesce(t.total_tokens, 0) <> coalesce(b.tokens, 0)
    or coalesce(t.total_cost_usd, 0) <> coalesce(b.cost_usd, 0)
