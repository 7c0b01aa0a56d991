-- grain: dirty quarter-hour x step in flight in it
-- inputs: ledger_steps, dirty_quarters
-- law: cut at quarter-hours, half-open, never empty
create or replace temp table ledger_pieces as
with quarters as (
    select *, from_ns // 900000000000 * 900000000000 as quarter_ns
    from ledger_steps
    where from_ns // 900000000000 = (to_ns - 1) // 900000000000
    union all
    select *, unnest(range(from_ns // 900000000000, (to_ns - 1) // 900000000000 + 1)) * 900000000000
    from ledger_steps
    where from_ns // 900000000000 < (to_ns - 1) // 900000000000
)

select
    row_number() over () as piece,
    quarter_ns,
    pool,
    step,
    replica_number,
    greatest(from_ns, quarter_ns) as from_ns,
    least(to_ns, quarter_ns + 900000000000) as to_ns
from quarters
semi join dirty_quarters using (quarter_ns)
