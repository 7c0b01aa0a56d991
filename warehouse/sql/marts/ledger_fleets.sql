-- grain: quarter-hour x pool x boundary at which what is known of its GPUs changes
-- inputs: ledger_segments, ledger_named_stretches
-- law: one row per instant; equal situations have equal fingerprints (sums of 64-bit hashes)
create or replace temp table ledger_fleets as
with edges as (
    select quarter_ns, pool, from_ns as t_ns, hash(gpu, code, micro_usd)::hugeint as mark from ledger_segments
    union all
    select quarter_ns, pool, to_ns, -hash(gpu, code, micro_usd)::hugeint from ledger_segments
    union all
    select quarter_ns, pool, from_ns, hash('named', replica_number)::hugeint from ledger_named_stretches
    union all
    select quarter_ns, pool, to_ns, -hash('named', replica_number)::hugeint from ledger_named_stretches
),

moments as (
    select quarter_ns, pool, t_ns, sum(mark) as mark
    from edges
    group by quarter_ns, pool, t_ns
)

select
    quarter_ns,
    pool,
    t_ns,
    row_number() over moment as turn,
    sum(mark) over moment as fingerprint
from moments
window moment as (partition by quarter_ns, pool order by t_ns)
