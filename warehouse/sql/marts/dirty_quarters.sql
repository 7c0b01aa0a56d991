-- grain: quarter-hour whose figures are computed again
-- inputs: dirty_times, touched_tasks, steps, tasks (of the refresh before), step_gpu, task_waits,
--   gpu_paid_before, gpu_paid_after, ledger_reach
-- law: every quarter-hour that a changed row can reach, in its old place and in its new
create or replace temp table dirty_quarters as
with held as (
    select min(from_ns) as from_ns, max(to_ns) as to_ns
    from (
        select from_ns, to_ns from gpu_paid_before where said like 'hold%'
        union all
        select from_ns, to_ns from gpu_paid_after where said like 'hold%'
    )
),

edges as (
    select gpu_id, said, from_ns as t_ns, 1 as weight from gpu_paid_after
    union all
    select gpu_id, said, to_ns, -1 from gpu_paid_after
    union all
    select gpu_id, said, from_ns, -1 from gpu_paid_before
    union all
    select gpu_id, said, to_ns, 1 from gpu_paid_before
),

-- where what is said now and what was said before do not cancel
differences as (
    select
        t_ns as from_ns,
        lead(t_ns) over (partition by gpu_id, said order by t_ns) as to_ns,
        sum(weight) over (partition by gpu_id, said order by t_ns) as difference
    from (
        select gpu_id, said, t_ns, sum(weight) as weight
        from edges
        group by gpu_id, said, t_ns
    )
),

gpu_stretches as (
    select
        greatest(changed.from_ns, held.from_ns) as from_ns,
        least(changed.to_ns, held.to_ns) as to_ns
    from (
        select from_ns, to_ns from dirty_times
        union all
        select from_ns, to_ns from differences where difference != 0
    ) as changed, held
    -- greatest() passes over null: where nothing was ever held, all of time would be dirty
    where held.from_ns is not null
),

task_stretches as (
    select min(steps.start_ns) as from_ns, max(steps.end_ns) as to_ns
    from steps
    where steps.task_id in (select touched_tasks.task_id from touched_tasks) and exists (select 1 from gpus)
    group by steps.task_id
    union all
    select tasks.start_ns, tasks.end_ns
    from tasks
    where tasks.task_id in (select touched_tasks.task_id from touched_tasks) and exists (select 1 from gpus)
),

stretches as (
    select gpu_stretches.from_ns - ledger_reach.back_ns as from_ns, gpu_stretches.to_ns + ledger_reach.ahead_ns as to_ns
    from gpu_stretches, ledger_reach
    where gpu_stretches.from_ns <= gpu_stretches.to_ns
    union all
    select task_stretches.from_ns - ledger_reach.back_ns, task_stretches.to_ns + ledger_reach.ahead_ns
    from task_stretches, ledger_reach
),

spans as (
    select distinct
        from_ns // 900000000000 as first_quarter,
        to_ns // 900000000000 as last_quarter
    from stretches
)

select distinct unnest(range(first_quarter, last_quarter + 1)) * 900000000000 as quarter_ns
from spans
where first_quarter >= 0
union
select quarter_ns from step_gpu where task_id in (select touched_tasks.task_id from touched_tasks)
union
select quarter_ns from task_waits where task_id in (select touched_tasks.task_id from touched_tasks)
