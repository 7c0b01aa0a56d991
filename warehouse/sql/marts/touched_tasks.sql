-- grain: one row per task whose rows are replaced: those that are, and those that were
-- inputs: touched_traces, trace_tasks
-- law: a task that lost its last trace to another task is in it, so that its rows go
create or replace temp table touched_tasks as
select task_id
from touched_traces
union
select t.task_id
from trace_tasks as t
where
    t.trace_id in (select n.trace_id from touched_traces as n)
    or t.trace_id in (select d.trace_id from dirty_traces as d)
