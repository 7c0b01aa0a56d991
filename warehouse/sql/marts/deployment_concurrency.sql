-- grain: dirty quarter-hour x deployment with GPUs
-- inputs: ledger_moments, ledger_pools, engine_limits, concurrency_days, dirty_quarters
-- law: the setting, else the limit that the engine told last, else the day's measured row, else the most seen in the quarter-hour; at least 1
insert into deployment_concurrency
select
    moments.quarter_ns,
    ledger_pools.deployment,
    greatest(1, coalesce(ledger_pools.concurrency, limits.max_num_seqs, concurrency_days.concurrency, moments.most_per_replica)),
    case
        when ledger_pools.concurrency is not null then 'settings'
        when limits.max_num_seqs is not null then 'the engine''s limit'
        when concurrency_days.concurrency is not null then 'p99 of the day before'
        else 'most seen in the quarter-hour'
    end
from (
    select
        ledger_moments.quarter_ns,
        ledger_moments.pool,
        max((ledger_moments.in_flight + pools.replicas - 1) // pools.replicas) as most_per_replica
    from ledger_moments
    inner join ledger_pools as pools on pools.pool = ledger_moments.pool
    where ledger_moments.length_ns > 0 and pools.deployment is not null
    group by ledger_moments.quarter_ns, ledger_moments.pool
) as moments
inner join ledger_pools on ledger_pools.pool = moments.pool
left join (
    select engine_limits.deployment, dirty_quarters.quarter_ns, arg_max(max_num_seqs, engine_limits.quarter_ns) as max_num_seqs
    from engine_limits
    inner join dirty_quarters on dirty_quarters.quarter_ns >= engine_limits.quarter_ns
    group by engine_limits.deployment, dirty_quarters.quarter_ns
) as limits on limits.deployment = ledger_pools.deployment and limits.quarter_ns = moments.quarter_ns
left join concurrency_days
    on concurrency_days.deployment = ledger_pools.deployment
    and concurrency_days.day_ns = moments.quarter_ns // 86400000000000 * 86400000000000
