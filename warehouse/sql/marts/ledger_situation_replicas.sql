-- grain: situation x replica with at least one held GPU
-- inputs: ledger_situation_gpus, ledger_situations, ledger_named_stretches
-- law: of a tensor-parallel group the worst GPU decides: lost, unknown, stuck, busy alone, busy, loaded, empty
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

asked as (
    select groups.*, ledger_situations.quarter_ns, ledger_situations.t_ns
    from groups
    inner join ledger_situations on ledger_situations.situation = groups.situation
)

select
    asked.situation,
    asked.replica_number,
    asked.gpus,
    asked.micro_usd,
    asked.evidence,
    asked.evidence != 'lost' and coalesce(named.to_ns > asked.t_ns, false) as is_named
from asked
asof left join ledger_named_stretches as named
    on named.pool = asked.pool
    and named.replica_number = asked.replica_number
    and named.quarter_ns = asked.quarter_ns
    and named.from_ns <= asked.t_ns
