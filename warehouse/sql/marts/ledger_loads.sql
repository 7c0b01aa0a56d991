-- grain: boundary of ledger_moments after which time passes or a share is read, with the load it starts
-- inputs: ledger_moments, ledger_fleets, ledger_situations, ledger_pools, deployment_concurrency
-- law: load packs all that the laying of states depends on; its counts are cut where more changes nothing:
-- bits 0-15 steps in flight, 16-31 replicas they need, 32-47 and 48-63 what each kind of wait adds,
-- 64 anyone holds the pool, 65 some step names no replica, from 66 the situation (0: nothing held)
create or replace temp table ledger_loads as
with situated as (
    select
        fleets.quarter_ns,
        fleets.pool,
        fleets.turn,
        situations.situation
    from ledger_fleets as fleets
    inner join ledger_situations as situations
        on situations.pool = fleets.pool and situations.fingerprint = fleets.fingerprint
),

needs as (
    select
        moments.*,
        coalesce(situated.situation, 0)::hugeint as situation,
        pools.replicas,
        (in_flight + limits.concurrency - 1) // limits.concurrency as for_steps,
        (in_flight + for_tools + limits.concurrency - 1) // limits.concurrency as with_tools,
        (in_flight + for_tools + otherwise + limits.concurrency - 1) // limits.concurrency as with_all
    from ledger_moments as moments
    inner join ledger_pools as pools on pools.pool = moments.pool
    left join situated
        on situated.quarter_ns = moments.quarter_ns
        and situated.pool = moments.pool
        and situated.turn = moments.fleet_turn
    left join (
        select ledger_pools.pool, limits.quarter_ns, limits.concurrency
        from deployment_concurrency as limits
        inner join ledger_pools on ledger_pools.deployment = limits.deployment
        semi join dirty_quarters on dirty_quarters.quarter_ns = limits.quarter_ns
        union all
        select ledger_pools.pool, dirty_quarters.quarter_ns, 1
        from ledger_pools, dirty_quarters
        where ledger_pools.deployment is null
    ) as limits on limits.pool = moments.pool and limits.quarter_ns = moments.quarter_ns
)

select
    quarter_ns,
    pool,
    kind,
    key,
    sign,
    t_ns,
    turn,
    length_ns,
    in_flight,
    unnamed,
    for_tools,
    otherwise,
    causes,
    least(in_flight, replicas)
    + least(for_steps, replicas) * 65536
    + least(with_tools - for_steps, replicas) * 4294967296
    + least(with_all - with_tools, replicas) * 281474976710656::hugeint
    + (holding > 0)::integer * 18446744073709551616::hugeint
    + (unnamed > 0)::integer * 36893488147419103232::hugeint
    + situation * 73786976294838206464::hugeint as load
from needs
