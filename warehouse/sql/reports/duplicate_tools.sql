-- grain: tool x arguments that were called more than once in a task
-- inputs: steps
-- law: extra_calls is what a cache of results could have answered, if the results were the same; a call whose
--      arguments nobody knows is never a duplicate
with
calls as (
    select
        *,
        row_number() over (partition by task_id, tool_name, args_hash order by start_ns, step_id) > 1 as is_extra
    from steps
    where
        counted
        and kind = 'tool'
        and args_hash is not null
        and start_ns >= $since_ns
        and start_ns < $until_ns
),

-- The model calls that asked for the extra calls: they may have asked for other tools too.
asking as (
    select
        e.task_id,
        e.tool_name,
        e.args_hash,
        sum(coalesce(r.input_tokens, 0) + coalesce(r.output_tokens, 0)) filter (
            where r.input_tokens is not null or r.output_tokens is not null
        )::bigint as asking_tokens,
        sum(r.token_cost_usd)::decimal(38, 12) as asking_cost_usd
    from (select distinct task_id, tool_name, args_hash, round from calls where is_extra) as e
    inner join steps as r on e.task_id = r.task_id and e.round = r.round and r.kind = 'llm' and r.counted
    group by e.task_id, e.tool_name, e.args_hash
)

select
    c.task_id,
    c.tool_name,
    min(agent) as agent,
    count(*) as calls,
    count(*) - 1 as extra_calls,
    count(distinct result_hash) as results,
    count(*) filter (where result_hash is null) as results_unknown,
    sum(coalesce(work_ns, end_ns - start_ns)) / 1e9 as work_s,
    sum(coalesce(work_ns, end_ns - start_ns)) / 1e9
    - arg_min(coalesce(work_ns, end_ns - start_ns), start_ns) / 1e9 as extra_work_s,
    sum(payload_bytes)::bigint as payload_bytes,
    make_timestamp_ns(min(start_ns))::timestamp as first_at,
    any_value(a.asking_tokens) as asking_tokens,
    any_value(a.asking_cost_usd) as asking_cost_usd,
    list(step_id order by start_ns, step_id) as step_ids
from calls as c
left join asking as a
    on c.task_id = a.task_id and c.tool_name is not distinct from a.tool_name and c.args_hash = a.args_hash
group by c.task_id, c.tool_name, c.args_hash
having count(*) > 1
order by extra_work_s desc, c.task_id, c.tool_name, first_at, step_ids
