-- grain: one row per trace
-- inputs: touched_traces
-- law: a trace belongs to one task
insert into trace_tasks (trace_id, task_id, start_ns, join_keys)
select trace_id, task_id, start_ns, join_keys
from touched_traces
