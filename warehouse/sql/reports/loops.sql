-- grain: task x tool call that was repeated
-- inputs: steps
-- law: form is identical, cycle of 2 to 4, unproved or near-duplicate; the first call of a loop is no repeat. is_counted
--      marks proved loops, whose rounds stand in the bucket loop; near-duplicates (equal once times, ids and numbers
--      are masked) and repeats whose results nobody knows are listed with a reason and never counted
with
tools as (
    select
        *,
        count(*) over (partition by task_id, tool_name, args_shape_hash) as alike,
        count(*) over (partition by task_id, tool_name, args_hash) as same_arguments,
        row_number() over (partition by task_id, tool_name, args_hash order by start_ns, step_id) = 1
        and count(*) filter (where bucket = 'loop') over (partition by task_id, tool_name, args_hash) > 0 as is_origin,
        tool_name || '/' || args_hash || '/' || result_hash as deed
    from steps
    where
        counted
        and kind = 'tool'
        and start_ns >= $since_ns
        and start_ns < $until_ns
),

spaced as (
    select
        *,
        coalesce(deed = lag(deed, 1) over by_time, false) as same_1,
        coalesce(deed = lag(deed, 2) over by_time, false) as same_2,
        coalesce(deed = lag(deed, 3) over by_time, false) as same_3,
        coalesce(deed = lag(deed, 4) over by_time, false) as same_4
    from tools
    window by_time as (partition by task_id order by start_ns, step_id)
),

-- A call that equals the one n before it stands in a cycle of n if a neighbour does so too.
found as (
    select
        *,
        case
            when bucket = 'loop' and same_1 then 'identical'
            when bucket = 'loop' and same_2 and (lag(same_2) over by_time or lead(same_2) over by_time) then 'cycle of 2'
            when bucket = 'loop' and same_3 and (lag(same_3) over by_time or lead(same_3) over by_time) then 'cycle of 3'
            when bucket = 'loop' and same_4 and (lag(same_4) over by_time or lead(same_4) over by_time) then 'cycle of 4'
            when bucket = 'loop' then 'identical'
            when is_origin then null
            when args_hash is not null and same_arguments > 1 then 'unproved'
            when args_shape_hash is not null and alike > 1 then 'near-duplicate'
        end as form,
        case
            when bucket = 'loop' then 'same arguments, same result, nothing written between'
            when args_hash is not null and same_arguments > 1 and result_hash is null
                then 'same arguments, results not known'
            when args_hash is not null and same_arguments > 1
                then 'same arguments, another result or something written between'
            when args_shape_hash is not null and alike > 1 then 'alike but for times, ids and numbers'
        end as reason
    from spaced
    window by_time as (partition by task_id order by start_ns, step_id)
)

select
    f.task_id,
    f.tool_name,
    min(f.agent) as agent,
    f.form,
    f.reason,
    coalesce(bool_or(f.bucket = 'loop'), false) as is_counted,
    count(*) as calls,
    sum(f.end_ns - f.start_ns) / 1e9 as duration_s,
    sum(f.payload_bytes)::bigint as payload_bytes,
    sum(coalesce(r.input_tokens, 0) + coalesce(r.output_tokens, 0)) filter (
        where r.input_tokens is not null or r.output_tokens is not null
    )::bigint as round_tokens,
    sum(r.token_cost_usd)::decimal(38, 12) as round_cost_usd,
    make_timestamp_ns(min(f.start_ns))::timestamp as first_at,
    list(distinct f.step_id order by f.step_id) as step_ids
from found as f
left join steps as r
    on f.task_id = r.task_id and f.round = r.round and r.kind = 'llm' and r.counted and r.bucket = 'loop'
    and f.bucket = 'loop'
where f.form is not null
group by f.task_id, f.tool_name, f.form, f.reason, coalesce(f.args_shape_hash, f.args_hash)
order by is_counted desc nulls last, calls desc, f.task_id, f.tool_name, first_at, step_ids
