-- One row per trace: the task it belongs to (its own id, unless a link or a task key joins traces).
-- join_keys: what may join it to other traces, its own id among them; start_ns: its earliest span.
create table trace_tasks (
    trace_id varchar not null,
    task_id varchar not null,
    start_ns bigint,
    join_keys varchar[]
)
