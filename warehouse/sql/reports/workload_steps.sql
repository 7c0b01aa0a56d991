-- grain: counted leaf step, whether its deployment is asked for or not
-- inputs: steps, tasks
-- law: what a replay needs and no text: who waited for whom follows from the instants; busy is when a model call occupied
--      its deployment, queue excluded where known; queue_s is null where nobody told it; a step without a length has no
--      instants but its start
-- params: task_id
select
    s.task_id,
    t.session,
    s.step_id,
    s.kind,
    coalesce(s.tool_name, s.name) as name,
    s.agent,
    s.model,
    s.deployment,
    s.replica,
    make_timestamp(s.start_ns // 1000) as started_at,
    case when not coalesce(s.is_untimed, false) then make_timestamp(s.end_ns // 1000) end as ended_at,
    case when not coalesce(s.is_untimed, false) then make_timestamp(s.busy_start_ns // 1000) end as busy_started_at,
    case when not coalesce(s.is_untimed, false) then make_timestamp(s.busy_end_ns // 1000) end as busy_ended_at,
    s.queue_ns / 1e9 as queue_s,
    s.status,
    s.input_tokens,
    s.cache_read_tokens,
    s.output_tokens,
    s.waits_for_person,
    coalesce(t.status = 'open', true) as is_open,
    s.simulated
from steps as s
left join tasks as t on s.task_id = t.task_id
where
    s.counted
    and s.is_leaf
    and s.start_ns >= $since_ns
    and s.start_ns < $until_ns
    and ($task_id is null or s.task_id = $task_id)
order by s.task_id, s.start_ns, s.end_ns, s.step_id
