-- grain: task x tool call that was repeated
-- inputs: steps
-- law: is_counted marks proved loops, whose rounds stand in the bucket loop; near-duplicates (equal once times, ids and
--      numbers are masked) and repeats whose results nobody knows are listed with a reason and never counted
with
tools as (
    select
        *,
        count(*) over (partition by task_id, tool_name, args_shape_hash) as alike,
        count(*) over (partition by task_id, tool_name, args_hash) as same_arguments
    from steps
    where
        counted
        and kind = 'tool'
        and start_ns >= $since_ns
        and start_ns < $until_ns
),

found as (
    select
        *,
        case
            when bucket = 'loop' then 'same arguments, same result, nothing written between'
            when args_hash is not null and same_arguments > 1 and result_hash is null
                then 'same arguments, results not known'
            when args_hash is not null and same_arguments > 1
                then 'same arguments, another result or something written between'
            when args_shape_hash is not null and alike > 1 then 'alike but for times, ids and numbers'
        end as reason
    from tools
)

select
    f.task_id,
    f.tool_name,
    any_value(f.agent) as agent,
    f.reason,
    bool_or(f.bucket = 'loop') as is_counted,
    count(*) as calls,
    sum(f.end_ns - f.start_ns) / 1e9 as duration_s,
    sum(f.payload_bytes)::bigint as payload_bytes,
    sum(coalesce(r.input_tokens, 0) + coalesce(r.output_tokens, 0))::bigint as round_tokens,
    sum(r.token_cost_usd)::decimal(38, 12) as round_cost_usd,
    make_timestamp_ns(min(f.start_ns))::timestamp as first_at
from found as f
left join steps as r
    on f.task_id = r.task_id and f.round = r.round and r.kind = 'llm' and r.counted and r.bucket = 'loop'
    and f.bucket = 'loop'
where f.reason is not null
group by f.task_id, f.tool_name, f.reason, coalesce(f.args_shape_hash, f.args_hash)
order by is_counted desc nulls last, calls desc, f.task_id, f.tool_name
