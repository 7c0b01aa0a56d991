-- grain: task x thread of two or more calls
-- inputs: steps, step_buckets
-- law: resent tokens and their cost are those of the bucket resent_context; tries and loops stand apart
with
calls as (
    select *
    from steps
    where
        counted
        and kind = 'llm'
        and why is null
        and bucket is null
        and input_tokens is not null
        and start_ns >= $since_ns
        and start_ns < $until_ns
),

resent as (
    select task_id, step_id, tokens, token_cost_usd
    from step_buckets
    where bucket = 'resent_context'
)

select
    c.task_id,
    c.thread,
    min(c.agent) as agent,
    any_value(c.model) as model,
    count(*) as calls,
    arg_min(c.input_tokens, (c.start_ns, c.step_id)) as first_input_tokens,
    max(c.input_tokens) as largest_input_tokens,
    arg_max(c.input_tokens, (c.start_ns, c.step_id)) as last_input_tokens,
    regr_slope(c.input_tokens, c.round order by c.round, c.step_id) as tokens_per_round,
    sum(c.input_tokens)::bigint as input_tokens,
    coalesce(sum(r.tokens), 0)::bigint as resent_tokens,
    coalesce(sum(r.tokens), 0) / nullif(sum(c.input_tokens), 0) as resent_ratio,
    sum(r.token_cost_usd)::decimal(38, 12) as resent_cost_usd,
    sum(c.cache_read_tokens)::bigint as cache_read_tokens,
    (arg_max(c.input_tokens, (c.start_ns, c.step_id)) - arg_min(c.input_tokens, (c.start_ns, c.step_id)))
    / (count(*) - 1) as tokens_per_call,
    list(c.step_id order by c.start_ns, c.step_id) as step_ids
from calls as c
left join resent as r on c.task_id = r.task_id and c.step_id = r.step_id
group by c.task_id, c.thread
having count(*) > 1
order by resent_tokens desc, c.task_id, c.thread
