-- grain: quarter-hour x deployment's pool x band (half or double concurrency) x load
-- inputs: ledger_loads, ledger_pools, deployment_concurrency, dirty_quarters
-- law: load as in ledger_loads, with what the steps need counted by the band's concurrency; lasts as long in sum
create or replace temp table ledger_band_loads as
with bands as (
    select
        ledger_pools.pool,
        limits.quarter_ns,
        ledger_pools.replicas,
        unnest(['half', 'double']) as band,
        unnest([greatest(1, limits.concurrency // 2), limits.concurrency * 2]) as concurrency
    from deployment_concurrency as limits
    inner join ledger_pools on ledger_pools.deployment = limits.deployment
    semi join dirty_quarters on dirty_quarters.quarter_ns = limits.quarter_ns
),

passed as (
    select quarter_ns, pool, load, in_flight, for_tools, otherwise, sum(length_ns)::bigint as length_ns
    from ledger_loads
    where length_ns > 0 and load >> 66 > 0
    group by quarter_ns, pool, load, in_flight, for_tools, otherwise
),

needs as (
    select
        passed.quarter_ns,
        passed.pool,
        passed.load,
        passed.length_ns,
        bands.band,
        bands.concurrency,
        bands.replicas,
        (in_flight + bands.concurrency - 1) // bands.concurrency as for_steps,
        (in_flight + for_tools + bands.concurrency - 1) // bands.concurrency as with_tools,
        (in_flight + for_tools + otherwise + bands.concurrency - 1) // bands.concurrency as with_all
    from passed
    inner join bands on bands.quarter_ns = passed.quarter_ns and bands.pool = passed.pool
)

select
    quarter_ns,
    pool,
    band,
    concurrency::integer as concurrency,
    (load & 65535)
    + least(for_steps, replicas) * 65536
    + least(with_tools - for_steps, replicas) * 4294967296
    + least(with_all - with_tools, replicas) * 281474976710656::hugeint
    + (load - (load & 18446744073709551615::hugeint)) as load,
    sum(length_ns)::bigint as length_ns
from needs
group by all
