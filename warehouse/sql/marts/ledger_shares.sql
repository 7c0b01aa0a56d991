-- grain: piece of a step, or wait
-- inputs: ledger_loads, ledger_load_prices, ledger_named_shares, ledger_weights, ledger_weight_sums
-- law: running sums per pool; what passes while it lasts is shared by those in flight, equally or (G a million times
-- finer) by their weights, and equally by those that wait alike. Shares are whole numbers of a millionth of a ns, and of a millionth of a USD per hour x thousandth
-- of a ns
create or replace temp table ledger_shares as
with passed as (
    select
        loads.quarter_ns,
        loads.pool,
        loads.turn,
        loads.kind,
        loads.key,
        loads.sign,
        case
            when unnamed > 0 and length_ns > 0
                then coalesce(length_ns::double * 1e6 / sums.weight, length_ns::double / in_flight)
            else 0
        end as f_ns,
        case when for_tools > 0 and length_ns > 0 then length_ns::double / for_tools else 0 end as t_ns,
        case when otherwise > 0 and length_ns > 0 then length_ns::double / otherwise else 0 end as b_ns,
        prices.serving_gpus,
        prices.serving_micro_usd,
        prices.tool_gpus,
        prices.tool_micro_usd,
        prices.between_gpus,
        prices.between_micro_usd
    from ledger_loads as loads
    left join ledger_load_prices as prices on prices.load = loads.load and loads.length_ns > 0
    left join ledger_weight_sums as sums
        on sums.quarter_ns = loads.quarter_ns
        and sums.pool = loads.pool
        and sums.turn = loads.turn
        and sums.replica_number is null
        and sums.weight > 0
),

whole as (
    select
        quarter_ns,
        pool,
        turn,
        kind,
        key,
        sign,
        (f_ns * coalesce(serving_gpus, 0) * 1e6)::hugeint as f_time,
        (f_ns * coalesce(serving_micro_usd, 0) * 1e3)::hugeint as f_money,
        (t_ns * coalesce(tool_gpus, 0) * 1e6)::hugeint as t_time,
        (t_ns * coalesce(tool_micro_usd, 0) * 1e3)::hugeint as t_money,
        (b_ns * coalesce(between_gpus, 0) * 1e6)::hugeint as b_time,
        (b_ns * coalesce(between_micro_usd, 0) * 1e3)::hugeint as b_money
    from passed
),

clocks as (
    select
        kind,
        key,
        sign,
        case kind
            when 'f' then sum(f_time) over earlier
            when 't' then sum(t_time) over earlier
            when 'b' then sum(b_time) over earlier
        end as time_clock,
        case kind
            when 'f' then sum(f_money) over earlier
            when 't' then sum(t_money) over earlier
            when 'b' then sum(b_money) over earlier
        end as money_clock
    from whole
    window earlier as (
        partition by quarter_ns, pool order by turn rows between unbounded preceding and 1 preceding
    )
)

select
    shares.kind,
    shares.key,
    case when weights.weight is null then time_share else time_share * weights.weight // 1000000 end as time_share,
    case when weights.weight is null then money_share else money_share * weights.weight // 1000000 end as money_share
from (
    select
        kind,
        key,
        -sum(sign * coalesce(time_clock, 0)) as time_share,
        -sum(sign * coalesce(money_clock, 0)) as money_share
    from clocks
    where kind in ('f', 't', 'b')
    group by kind, key
) as shares
left join ledger_weights as weights on weights.piece = case when shares.kind = 'f' then shares.key end
union all
select 'n', piece, time_share, money_share from ledger_named_shares
