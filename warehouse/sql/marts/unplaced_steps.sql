-- grain: deployment x dirty quarter-hour with steps that no GPU of it could have served
-- inputs: ledger_loads, ledger_load_prices, ledger_replica_moments, ledger_pools
-- law: seconds of steps in flight while nothing is laid to serve them
insert into unplaced_steps
with lost as (
    -- the pool is shared, and no replica of it serves
    select loads.quarter_ns, loads.pool, loads.length_ns::hugeint * loads.in_flight as step_ns
    from ledger_loads as loads
    inner join ledger_load_prices as prices on prices.load = loads.load
    where loads.length_ns > 0 and loads.unnamed > 0 and prices.serving_gpus = 0
    union all
    -- other replicas serve their own steps, the one that these name is lost or not held
    select moments.quarter_ns, moments.pool, moments.length_ns::hugeint * moments.named
    from ledger_replica_moments as moments
    where
        moments.length_ns > 0
        and moments.named > 0
        and moments.unnamed = 0
        and (moments.lost > 0 or moments.gpus = 0)
)

select lost.quarter_ns, ledger_pools.deployment, sum(lost.step_ns)::bigint
from lost
inner join ledger_pools on ledger_pools.pool = lost.pool
group by lost.quarter_ns, ledger_pools.deployment
