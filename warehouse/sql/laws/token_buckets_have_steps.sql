-- grain: bucket of a step that is not counted or not there
-- inputs: steps, step_buckets
-- law: nothing is split that is not counted
select b.task_id, b.step_id, b.bucket
from step_buckets as b
left join steps as s on b.task_id = s.task_id and b.step_id = s.step_id and s.counted
where s.step_id is null
