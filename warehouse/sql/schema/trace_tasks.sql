-- One row per trace: the task it belongs to (its own id, unless a link or a task key joins traces).
create table trace_tasks (trace_id varchar not null, task_id varchar not null)
