-- grain: situation x replica with at least one held GPU
-- inputs: ledger_situation_gpus, ledger_situations, ledger_named_stretches
-- law: of a tensor-parallel group the worst GPU decides: lost, cold, unknown, stuck, busy alone, busy, loaded, empty
create or replace temp table ledger_situation_replicas as
with groups as (
    select
        situation,
        pool,
        replica_number,
        count(*) as gpus,
        sum(coalesce(micro_usd, 0)) as micro_usd,
        case
            when bool_or(code = 6) then 'lost'
            when bool_or(code = 9) then 'cold_start'
            when bool_or(code = 5) then 'unknown'
            when bool_or(code = 4) then 'stuck'
            when bool_or(code = 3) then 'unattributed'
            when bool_or(code = 7) then 'busy'
            when bool_or(code in (2, 8)) then 'loaded'
            else 'unloaded'
        end as evidence
    from ledger_situation_gpus
    group by situation, pool, replica_number
),

points as (
    select
        groups.situation,
        situations.quarter_ns,
        groups.pool,
        groups.replica_number,
        groups.gpus,
        groups.micro_usd,
        groups.evidence,
        situations.t_ns,
        null::bigint as named_to_ns
    from groups
    inner join ledger_situations as situations on situations.situation = groups.situation
    union all
    select null, quarter_ns, pool, replica_number, null, null, null, from_ns, to_ns from ledger_named_stretches
),

-- stretches of one replica are disjoint, so the last to start is the last to end
looked as (
    select
        situation,
        replica_number,
        gpus,
        micro_usd,
        evidence,
        t_ns,
        max(named_to_ns) over (
            partition by quarter_ns, pool, replica_number order by t_ns, situation nulls first rows unbounded preceding
        ) as named_to_ns
    from points
)

select
    situation,
    replica_number,
    gpus,
    micro_usd,
    evidence,
    evidence != 'lost' and coalesce(named_to_ns > t_ns, false) as is_named
from looked
where situation is not null
