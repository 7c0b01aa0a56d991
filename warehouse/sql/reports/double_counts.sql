-- grain: task x kind of span whose tokens were left out, and response that was told in two tasks
-- inputs: spans, trace_tasks, steps
-- law: tokens are what a plain sum would have added; probable doubles over two tasks are listed and not corrected
with
told as (
    select
        t.task_id,
        s.trace_id,
        s.span_id,
        s.start_ns,
        s.role,
        s.response_id,
        coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0) as tokens
    from spans as s
    inner join trace_tasks as t on s.trace_id = t.trace_id
    where
        (s.input_tokens is not null or s.output_tokens is not null)
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
    qualify
        row_number() over (
            partition by s.trace_id, s.span_id, s.start_ns
            order by s.end_ns desc nulls last, s.filled desc nulls last, s.decoder_version desc, s.row_hash desc
        ) = 1
),

left_out as (
    select
        t.task_id,
        coalesce(p.why, 'usage of a ' || t.role || ' span, told by the calls it belongs to') as reason,
        t.tokens
    from told as t
    left join steps as p
        on t.trace_id = p.trace_id and t.span_id = p.span_id and t.start_ns = p.start_ns and t.task_id = p.task_id
    where p.counted is null or not p.counted
),

again as (
    select
        t.task_id,
        'answered under an id that another task has at the same instant: probably sent twice' as reason,
        t.tokens
    from told as t
    inner join steps as p
        on t.trace_id = p.trace_id and t.span_id = p.span_id and t.start_ns = p.start_ns and p.counted
    where t.response_id is not null
    qualify
        count(distinct t.task_id) over (partition by t.response_id, t.start_ns, t.tokens) > 1
)

select
    task_id,
    reason,
    bool_and(is_corrected) as is_corrected,
    count(*) as spans,
    sum(tokens)::bigint as tokens
from (
    select *, true as is_corrected from left_out
    union all
    select *, false from again
)
group by task_id, reason
order by is_corrected, tokens desc, task_id, reason
