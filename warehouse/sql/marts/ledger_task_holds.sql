-- grain: task x pool that it holds
-- inputs: ledger_leaves
-- law: from the start of its first to the end of its last step on the pool; outside it is not open there
create or replace temp table ledger_task_holds as
select
    (row_number() over ())::bigint as hold,
    task,
    any_value(task_id) as task_id,
    pool,
    min(from_ns) as from_ns,
    max(to_ns) as to_ns
from ledger_leaves
where deed = 'served'
group by task, pool
