-- grain: quarter-hour x replica x unbroken stretch in which some step in flight names it
-- inputs: ledger_replica_moments
-- law: disjoint
create or replace temp table ledger_named_stretches as
with lasting as (
    select
        *,
        lag(named) over (partition by quarter_ns, pool, replica_number order by turn) as named_before
    from ledger_replica_moments
    where length_ns > 0 or length_ns is null
),

changes as (
    select
        quarter_ns,
        pool,
        replica_number,
        named,
        t_ns as from_ns,
        lead(t_ns) over (partition by quarter_ns, pool, replica_number order by turn) as to_ns
    from lasting
    where (named > 0) != (coalesce(named_before, 0) > 0)
)

select quarter_ns, pool, replica_number, from_ns, to_ns
from changes
where named > 0
