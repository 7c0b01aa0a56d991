-- grain: task x reason for which tokens of spans were left out, and answer that was told in two tasks
-- inputs: spans, trace_tasks, steps, token_prices
-- law: tokens are what a plain sum would have added: plain_sum_tokens less those of all corrected rows is what counted.
--      Tokens of a view that fill a call without any count and are not here. Money is at the price row of the call that is repeated, of a sum
--      at the one row that all calls of its task have, else null. Probable doubles over two tasks are listed and not
--      corrected
-- params: task_id
with
told as (
    select
        t.task_id,
        s.trace_id || '/' || s.span_id || '/' || s.start_ns as step_id,
        s.start_ns,
        s.role,
        s.signal,
        coalesce(s.response_id, s.input_hash || '/' || s.output_hash) as answer,
        coalesce(s.input_tokens, 0) as input_tokens,
        least(coalesce(s.cache_read_tokens, 0), coalesce(s.input_tokens, 0)) as read_tokens,
        coalesce(s.cache_write_tokens, 0) as write_tokens,
        coalesce(s.output_tokens, 0) as output_tokens,
        coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0) as tokens
    from spans as s
    inner join trace_tasks as t on s.trace_id = t.trace_id
    where
        (s.input_tokens is not null or s.output_tokens is not null)
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
        and ($task_id is null or t.task_id = $task_id)
    qualify
        row_number() over (
            partition by s.trace_id, s.span_id, s.start_ns
            order by s.end_ns desc nulls last, s.filled desc nulls last, s.decoder_version desc, s.row_hash desc
        ) = 1
),

placed as (
    select
        t.*,
        p.step_id as row_of,
        p.counted,
        p.why,
        c.price_id,
        sum(t.tokens) over (partition by t.task_id) as plain_sum_tokens
    from told as t
    left join steps as p on t.task_id = p.task_id and t.step_id = p.step_id
    left join steps as c on p.task_id = c.task_id and p.call_id = c.step_id and not p.counted
),

one_price as (
    select task_id, any_value(price_id) as price_id
    from steps
    where counted and kind in ('llm', 'embedding')
    group by task_id
    having
        count(distinct price_id) = 1
        and count(*) filter (where price_id is null and token_cost_usd is null) = 0
),

prices as (
    select *
    from token_prices
    qualify row_number() over (partition by price_id order by model) = 1
),

-- Tokens of a counted call that tells none itself, by the view that told them: they count, under the call's name.
lent as (
    select t.step_id
    from placed as t
    inner join steps as c
        on
            t.task_id = c.task_id
            and t.start_ns between c.start_ns and c.end_ns
            and t.tokens = coalesce(c.input_tokens, 0) + coalesce(c.output_tokens, 0)
    where
        (t.counted is null or not t.counted)
        and t.role not in ('agent', 'wrapper')
        and c.counted
        and c.kind in ('llm', 'embedding')
        and c.step_id not in (select i.step_id from told as i)
    qualify row_number() over (partition by c.task_id, c.step_id order by t.start_ns desc, t.step_id) = 1
),

left_out as (
    select
        t.task_id,
        coalesce(
            t.why,
            case
                when t.signal = 'log' then 'a span of the same run tells this call'
                when t.role in ('agent', 'wrapper') then 'its calls tell these tokens themselves'
                else 'what it knows completes a call that counts'
            end
        ) as reason,
        true as is_corrected,
        t.step_id,
        t.tokens,
        t.plain_sum_tokens,
        (t.input_tokens - t.read_tokens - least(t.write_tokens, t.input_tokens - t.read_tokens)) * p.input_usd
        + t.read_tokens * coalesce(p.cache_read_usd, p.input_usd)
        + least(t.write_tokens, t.input_tokens - t.read_tokens) * coalesce(p.cache_write_usd, p.input_usd)
        + t.output_tokens * p.output_usd as cost_usd
    from placed as t
    left join one_price as o on t.task_id = o.task_id and t.price_id is null
    left join prices as p on coalesce(t.price_id, o.price_id) = p.price_id
    where (t.counted is null or not t.counted) and t.step_id not in (select i.step_id from lent as i)
),

again as (
    select
        t.task_id,
        'another task has this answer at the same instant: probably sent twice' as reason,
        false as is_corrected,
        t.step_id,
        t.tokens,
        t.plain_sum_tokens,
        p.token_cost_usd as cost_usd
    from placed as t
    inner join steps as p on t.task_id = p.task_id and t.step_id = p.step_id and p.counted
    where t.answer is not null
    qualify count(distinct t.task_id) over (partition by t.answer, t.start_ns, t.tokens) > 1
)

select
    task_id,
    reason,
    is_corrected,
    count(*) as spans,
    sum(tokens)::bigint as tokens,
    case when count(cost_usd) = count(*) then sum(cost_usd) end::decimal(38, 12) as cost_usd,
    any_value(plain_sum_tokens)::bigint as plain_sum_tokens,
    list(step_id order by step_id) as step_ids
from (
    select * from left_out
    union all
    select * from again
)
group by task_id, reason, is_corrected
order by is_corrected, tokens desc, task_id, reason
