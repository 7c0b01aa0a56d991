-- grain: one row per step that the refresh before priced by its tokens
-- inputs: touched_tasks, steps
-- law: a step keeps the edition of the price book that priced it first, whatever arrives later and wherever it moves
create or replace temp table price_editions_before as
select step_id, max(price_known_ns) as known_ns
from steps
where
    price_known_ns is not null
    and task_id in (select t.task_id from touched_tasks as t)
group by step_id
