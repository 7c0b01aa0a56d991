-- grain: quarter-hour x replica that some step names x boundary
-- inputs: ledger_pieces, ledger_segments, ledger_gpus
-- law: turn orders the boundaries; whoever reads a sum of an earlier window orders by it
create or replace temp table ledger_replica_moments as
with replicas as (
    select distinct quarter_ns, pool, replica_number from ledger_pieces where replica_number is not null
),

edges as (
    select quarter_ns, pool, replica_number, from_ns as t_ns, piece, 1 as sign, 1 as named, 0 as unnamed, 0 as gpus,
        0 as lost, 0::bigint as micro_usd
    from ledger_pieces
    where replica_number is not null
    union all
    select quarter_ns, pool, replica_number, to_ns, piece, -1, -1, 0, 0, 0, 0
    from ledger_pieces
    where replica_number is not null
    union all
    select replicas.quarter_ns, replicas.pool, replicas.replica_number, ends.t_ns, null, 0, 0, ends.sign, 0, 0, 0
    from replicas
    inner join (
        select quarter_ns, pool, unnest([from_ns, to_ns]) as t_ns, unnest([1, -1]) as sign
        from ledger_pieces
        where replica_number is null
    ) as ends on ends.quarter_ns = replicas.quarter_ns and ends.pool = replicas.pool
    union all
    select
        segments.quarter_ns,
        segments.pool,
        segments.replica_number,
        segments.t_ns,
        null,
        0,
        0,
        0,
        segments.sign,
        segments.sign * (segments.code = 6)::integer,
        segments.sign * coalesce(segments.micro_usd, 0)
    from (
        select
            ledger_segments.quarter_ns,
            ledger_segments.pool,
            ledger_gpus.replica_number,
            ledger_segments.code,
            ledger_segments.micro_usd,
            unnest([ledger_segments.from_ns, ledger_segments.to_ns]) as t_ns,
            unnest([1, -1]) as sign
        from ledger_segments
        inner join ledger_gpus on ledger_gpus.gpu = ledger_segments.gpu
    ) as segments
    semi join replicas using (quarter_ns, pool, replica_number)
)

select
    quarter_ns,
    pool,
    replica_number,
    t_ns,
    piece,
    sign,
    row_number() over boundary as turn,
    lead(t_ns) over boundary - t_ns as length_ns,
    sum(named) over boundary as named,
    sum(unnamed) over boundary as unnamed,
    sum(gpus) over boundary as gpus,
    sum(lost) over boundary as lost,
    sum(micro_usd) over boundary as micro_usd
from edges
window boundary as (partition by quarter_ns, pool, replica_number order by t_ns rows unbounded preceding)
