-- grain: dirty quarter-hour x deployment x state x who pays (a step; or a task and a cause)
-- inputs: ledger_shares, ledger_pieces, ledger_steps, ledger_waits, ledger_task_holds, ledger_deeds, ledger_tools,
--   ledger_pools
-- law: shares as in ledger_shares. While several leaf tools of a task are in flight they share its wait equally
create or replace temp table ledger_claims as
with serving as (
    select
        pieces.quarter_ns,
        pieces.pool,
        'serving' as state,
        steps.task_id,
        steps.step_id,
        null as cause,
        coalesce(shares.time_share, 0) as time_share,
        coalesce(shares.money_share, 0) as money_share
    from ledger_pieces as pieces
    inner join ledger_steps as steps on steps.step = pieces.step
    left join (
        select key, sum(time_share) as time_share, sum(money_share) as money_share
        from ledger_shares
        where kind in ('f', 'n')
        group by key
    ) as shares on shares.key = pieces.piece
),

waiting as (
    select
        waits.wait,
        waits.quarter_ns,
        waits.hold,
        waits.pool,
        waits.from_ns,
        waits.to_ns,
        waits.tools,
        waits.tool,
        waits.cause,
        shares.time_share,
        shares.money_share
    from ledger_waits as waits
    inner join ledger_shares as shares
        on shares.key = waits.wait and shares.kind = case when waits.tools > 0 then 't' else 'b' end
    where shares.time_share > 0
),

by_cause as (
    select
        waiting.quarter_ns,
        waiting.pool,
        waiting.hold,
        case when waiting.tools > 0 then 'tool_wait' else 'between_steps' end as state,
        case when waiting.tools > 0 then tools.tool else waiting.cause end as cause,
        waiting.time_share,
        waiting.money_share
    from waiting
    left join (select number, any_value(tool) as tool from ledger_tools where number < 16383 group by number) as tools
        on tools.number = waiting.tool
    where waiting.tools = 0 or waiting.tool between 1 and 16382
    union all
    select
        waiting.quarter_ns,
        waiting.pool,
        waiting.hold,
        'tool_wait',
        coalesce(tools.tool, 'several'),
        (waiting.time_share::double / waiting.tools)::hugeint,
        (waiting.money_share::double / waiting.tools)::hugeint
    from waiting
    inner join ledger_deeds as deeds
        on deeds.quarter_ns = waiting.quarter_ns
        and deeds.hold = waiting.hold
        and deeds.deed = 'tool'
        and deeds.from_ns <= waiting.from_ns
        and deeds.to_ns >= waiting.to_ns
    left join (select number, any_value(tool) as tool from ledger_tools where number < 16383 group by number) as tools
        on tools.number = deeds.tool
    where waiting.tools > 0 and not waiting.tool between 1 and 16382
),

waits as (
    select
        by_cause.quarter_ns,
        by_cause.pool,
        by_cause.state,
        holds.task_id,
        null as step_id,
        by_cause.cause,
        sum(by_cause.time_share) as time_share,
        sum(by_cause.money_share) as money_share
    from by_cause
    inner join ledger_task_holds as holds on holds.hold = by_cause.hold
    group by by_cause.quarter_ns, by_cause.pool, by_cause.state, holds.task_id, by_cause.cause
)

select
    claims.quarter_ns,
    ledger_pools.deployment,
    claims.state,
    claims.task_id,
    claims.step_id,
    claims.cause,
    claims.time_share,
    claims.money_share
from (
    select * from serving
    union all
    select * from waits
) as claims
inner join ledger_pools on ledger_pools.pool = claims.pool
