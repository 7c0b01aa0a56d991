-- grain: trace that is in no task or in several
-- inputs: trace_tasks, spans
-- law: every trace with spans belongs to exactly one task
select s.trace_id, count(t.task_id) as tasks
from (select distinct trace_id from spans where trace_id is not null) as s
left join trace_tasks as t on s.trace_id = t.trace_id
group by s.trace_id
having count(t.task_id) <> 1
