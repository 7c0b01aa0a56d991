-- grain: piece of a step that names its replica
-- inputs: ledger_replica_moments, ledger_weights, ledger_weight_sums
-- law: while every step in flight names its replica, a replica's GPUs are shared by its own steps, equally or by their
-- weights as in ledger_shares; shares are whole numbers of a millionth of a ns, and of a millionth of a USD per hour x thousandth of a ns
create or replace temp table ledger_named_shares as
with passed as (
    select
        moments.*,
        case
            when named > 0 and unnamed = 0 and lost = 0 and length_ns > 0
                then coalesce(
                    length_ns::double * gpus::double * 1e12 / sums.weight,
                    length_ns::double * gpus::double * 1e6 / named::double
                )::hugeint
            else 0::hugeint
        end as time_passed,
        case
            when named > 0 and unnamed = 0 and lost = 0 and length_ns > 0
                then coalesce(
                    length_ns::double * micro_usd::double * 1e9 / sums.weight,
                    length_ns::double * micro_usd::double * 1e3 / named::double
                )::hugeint
            else 0::hugeint
        end as money_passed
    from ledger_replica_moments as moments
    left join ledger_weight_sums as sums
        on sums.quarter_ns = moments.quarter_ns
        and sums.pool = moments.pool
        and sums.replica_number = moments.replica_number
        and sums.turn = moments.turn
        and sums.weight > 0
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
    shares.piece,
    case when weights.weight is null then time_share else time_share * weights.weight // 1000000 end as time_share,
    case when weights.weight is null then money_share else money_share * weights.weight // 1000000 end as money_share
from (
    select
        piece,
        -sum(sign * coalesce(time_clock, 0)) as time_share,
        -sum(sign * coalesce(money_clock, 0)) as money_share
    from clocks
    where piece is not null
    group by piece
) as shares
left join ledger_weights as weights on weights.piece = shares.piece
