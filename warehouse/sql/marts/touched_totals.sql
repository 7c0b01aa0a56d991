-- grain: one row per task whose totals are computed again though its spans did not change
-- inputs: touched_tasks, task_tokens, dirty_quarters
-- law: a quarter-hour that was split again can change the GPU money of every task that lived in it
insert into touched_tasks
select t.task_id
from task_tokens as t
asof inner join dirty_quarters as q on t.start_ns // 900000000000 * 900000000000 <= q.quarter_ns
where q.quarter_ns <= t.end_ns and t.task_id not in (select d.task_id from touched_tasks as d)
