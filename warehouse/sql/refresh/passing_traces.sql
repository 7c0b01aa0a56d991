-- grain: trace of a task that time alone may change: one that times out, or one that settles
-- inputs: tasks, task_tokens, setting, refreshes
-- law: a task that closed and settled is not looked at again until one of its spans arrives
insert into dirty_traces
select unnest(trace_ids)
from task_tokens
where is_open and end_ns + (select task_timeout_ns from setting) <= (select now_ns from setting)
union
select unnest(trace_ids)
from tasks
where provisional and end_ns + (select settle_ns from setting) <= (select now_ns from setting)
