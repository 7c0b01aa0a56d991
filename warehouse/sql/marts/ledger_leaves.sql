-- grain: stretch in which a task does something, of the tasks that live in dirty quarter-hours
-- inputs: steps, task_tokens, ledger_pools, dirty_quarters
-- law: only counted leaves. deed: served (occupies a pool), model (an LLM elsewhere, or queued for its pool), tool
-- (its own work), person (a tool that waits for someone)
create or replace temp table ledger_leaves as
with reach as (
    select min(quarter_ns) as from_ns, max(quarter_ns) + 900000000000 as to_ns from dirty_quarters
),

living as (
    select task_id, (row_number() over ())::bigint as task
    from task_tokens
    where start_ns < (select reach.to_ns from reach) and end_ns > (select reach.from_ns from reach)
),

leaves as (
    select
        living.task,
        living.task_id,
        ledger_pools.pool,
        steps.kind,
        coalesce(steps.tool_name, steps.name, steps.kind) as tool,
        steps.start_ns,
        steps.end_ns,
        steps.busy_start_ns,
        steps.busy_end_ns,
        steps.waits_for_person,
        -- a tool's own work is its last part: what comes before is permission or queueing
        greatest(
            steps.start_ns,
            steps.end_ns - coalesce(
                steps.work_ns, case when steps.waits_for_person then 0 else steps.end_ns - steps.start_ns end
            )
        ) as work_start_ns
    from steps
    inner join living on living.task_id = steps.task_id
    left join ledger_pools on ledger_pools.deployment = steps.deployment
    where steps.counted and steps.is_leaf
)

select task, task_id, pool, 'served' as deed, null as tool, busy_start_ns as from_ns, busy_end_ns as to_ns
from leaves
where busy_start_ns < busy_end_ns and pool is not null
union all
select task, task_id, null, 'model', null, coalesce(busy_start_ns, start_ns), coalesce(busy_end_ns, end_ns)
from leaves
where
    kind in ('llm', 'embedding')
    and pool is null
    and coalesce(busy_start_ns, start_ns) < coalesce(busy_end_ns, end_ns)
union all
select task, task_id, null, 'tool', tool, work_start_ns, end_ns
from leaves
where kind in ('tool', 'retrieval') and work_start_ns < end_ns
union all
select task, task_id, null, 'person', null, start_ns, work_start_ns
from leaves
where kind in ('tool', 'retrieval') and waits_for_person and start_ns < work_start_ns
