-- grain: model call that was tried more than once
-- inputs: steps, step_gpu
-- law: tokens and money are those of the tries before the last; null where no try tells of any
with
tries as (
    select s.*, g.cost_usd as gpu_cost_usd
    from steps as s
    left join (
        select task_id, step_id, sum(cost_usd) as cost_usd
        from step_gpu
        group by task_id, step_id
    ) as g on s.task_id = g.task_id and s.step_id = g.step_id
    where s.counted and s.kind in ('llm', 'embedding')
)

select
    task_id,
    call_id,
    min(agent) as agent,
    arg_max(model, attempt) as model,
    arg_max(deployment, attempt) as deployment,
    make_timestamp_ns(min(start_ns))::timestamp as started_at,
    sum(attempts)::bigint as attempts,
    arg_max(status, attempt) as status,
    list(distinct error_type) filter (where error_type is not null) as error_types,
    sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) filter (
        where bucket = 'retried' and (input_tokens is not null or output_tokens is not null)
    )::bigint as wasted_tokens,
    sum(case paid_by when 'gpu' then gpu_cost_usd else token_cost_usd end) filter (
        where bucket = 'retried'
    )::decimal(38, 12) as wasted_usd,
    (max(start_ns) - min(start_ns)) / 1e9 as wasted_s,
    list(step_id order by start_ns, step_id) as step_ids
from tries
group by task_id, call_id
having sum(attempts) > 1 and min(start_ns) >= $since_ns and min(start_ns) < $until_ns
order by wasted_usd desc nulls last, attempts desc, call_id
