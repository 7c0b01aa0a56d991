-- grain: dirty quarter-hour x task's hold on a pool x stretch of one deed inside it
-- inputs: ledger_task_holds, ledger_leaves, ledger_tools, dirty_quarters
-- law: cut at the hold and at quarter-hours, half-open, never empty. An LLM step on another pool is deed model
create or replace temp table ledger_deeds as
with inside as (
    select hold, pool, 'hold' as deed, 0::bigint as tool, from_ns, to_ns
    from ledger_task_holds
    union all
    select
        holds.hold,
        holds.pool,
        case when leaves.deed = 'served' and leaves.pool != holds.pool then 'model' else leaves.deed end,
        coalesce(ledger_tools.number, 0),
        greatest(leaves.from_ns, holds.from_ns),
        least(leaves.to_ns, holds.to_ns)
    from ledger_task_holds as holds
    inner join ledger_leaves as leaves on leaves.task = holds.task
    left join ledger_tools on ledger_tools.tool = leaves.tool
    where leaves.from_ns < holds.to_ns and leaves.to_ns > holds.from_ns
),

quarters as (
    select *, from_ns // 900000000000 * 900000000000 as quarter_ns
    from inside
    where from_ns // 900000000000 = (to_ns - 1) // 900000000000
    union all
    select *, unnest(range(from_ns // 900000000000, (to_ns - 1) // 900000000000 + 1)) * 900000000000
    from inside
    where from_ns // 900000000000 < (to_ns - 1) // 900000000000
)

select
    quarter_ns,
    hold,
    pool,
    deed,
    tool,
    greatest(from_ns, quarter_ns) as from_ns,
    least(to_ns, quarter_ns + 900000000000) as to_ns
from quarters
semi join dirty_quarters using (quarter_ns)
