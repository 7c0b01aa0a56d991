-- grain: one row per task whose roll-ups or totals say more than their parts
-- inputs: rollup_usage, step_figures
-- law: of nested roll-ups the same excess counts once: a roll-up adds only what those below it do not say already.
--      Tokens that a call's own total holds beyond input and output are added
create or replace temp table task_unexplained as
with recursive
told (node, tokens) using key (node) as (
    select node, excess_tokens::hugeint from rollup_usage
    where task_id in (select u.task_id from rollup_usage as u where u.excess_tokens > 0)
    union
    select i.above, sum(t.tokens)
    from recurring.told as t
    inner join rollup_usage as i on t.node = i.node
    inner join recurring.told as mine on i.above = mine.node
    group by i.above, mine.tokens
    having sum(t.tokens) > mine.tokens
),

found as (
    select u.task_id, t.tokens
    from told as t
    inner join rollup_usage as u on t.node = u.node
    where u.above is null
    union all
    select task_id, greatest(reported_total_tokens - coalesce(input_tokens, 0) - coalesce(output_tokens, 0), 0)
    from step_figures
    where reported_total_tokens is not null and (input_tokens is not null or output_tokens is not null)
)

select task_id, sum(tokens)::bigint as tokens
from found
group by task_id
having sum(tokens) > 0
