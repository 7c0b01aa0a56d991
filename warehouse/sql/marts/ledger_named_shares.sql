-- grain: piece of a step that names its replica
-- inputs: ledger_replica_moments
-- law: while every step in flight names its replica, a replica's GPUs are shared equally by its own steps; shares
-- are whole numbers of a millionth of a ns, and of a millionth of a USD per hour x thousandth of a ns
create or replace temp table ledger_named_shares as
with passed as (
    select
        *,
        case
            when named > 0 and unnamed = 0 and lost = 0 and length_ns > 0
                then (length_ns::double * gpus::double * 1e6 / named::double)::hugeint
            else 0::hugeint
        end as time_passed,
        case
            when named > 0 and unnamed = 0 and lost = 0 and length_ns > 0
                then (length_ns::double * micro_usd::double * 1e3 / named::double)::hugeint
            else 0::hugeint
        end as money_passed
    from ledger_replica_moments
),

clocks as (
    select
        piece,
        sign,
        sum(time_passed) over earlier as time_clock,
        sum(money_passed) over earlier as money_clock
    from passed
    window earlier as (
        partition by quarter_ns, pool, replica_number order by turn
        rows between unbounded preceding and 1 preceding
    )
)

select
    piece,
    -sum(sign * coalesce(time_clock, 0)) as time_share,
    -sum(sign * coalesce(money_clock, 0)) as money_share
from clocks
where piece is not null
group by piece
