-- grain: pool x replica (-1: steps that name none) x unbroken stretch of steps in flight
-- inputs: ledger_steps, ledger_windows
-- law: only for pools that were sampled
create or replace temp table ledger_islands as
with parts as (
    select
        pool,
        coalesce(replica_number, -1) as replica_number,
        from_ns,
        to_ns,
        row_number() over (partition by pool, coalesce(replica_number, -1) order by from_ns, to_ns, step) as turn
    from ledger_steps
    where pool in (select ledger_windows.pool from ledger_windows)
),

marked as (
    select
        *,
        from_ns <= max(to_ns) over (
            partition by pool, replica_number order by turn rows between unbounded preceding and 1 preceding
        ) as joins
    from parts
),

numbered as (
    select
        *,
        sum((joins is not true)::integer) over (
            partition by pool, replica_number order by turn rows unbounded preceding
        ) as island
    from marked
)

select pool, replica_number, min(from_ns) as from_ns, max(to_ns) as to_ns
from numbered
group by pool, replica_number, island
