-- grain: tool x arguments that were called more than once in a task
-- inputs: steps
-- law: extra_calls is what a cache of results could have answered, if the results were the same; a call whose
--      arguments nobody knows is never a duplicate
select
    task_id,
    tool_name,
    any_value(agent) as agent,
    count(*) as calls,
    count(*) - 1 as extra_calls,
    count(distinct result_hash) as results,
    count(*) filter (where result_hash is null) as results_unknown,
    sum(coalesce(work_ns, end_ns - start_ns)) / 1e9 as work_s,
    sum(coalesce(work_ns, end_ns - start_ns)) / 1e9
    - arg_min(coalesce(work_ns, end_ns - start_ns), start_ns) / 1e9 as extra_work_s,
    sum(payload_bytes)::bigint as payload_bytes,
    make_timestamp_ns(min(start_ns))::timestamp as first_at
from steps
where
    counted
    and kind = 'tool'
    and args_hash is not null
    and start_ns >= $since_ns
    and start_ns < $until_ns
group by task_id, tool_name, args_hash
having count(*) > 1
order by extra_work_s desc, task_id, tool_name
