-- grain: row of a task that is computed again
-- inputs: touched_tasks
-- law: the rows of the touched tasks and no others go
delete from {table} where task_id in (select task_id from touched_tasks)
