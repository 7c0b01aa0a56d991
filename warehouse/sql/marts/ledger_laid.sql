-- grain: load x held replica
-- inputs: ledger_loads, ledger_band_loads, ledger_situation_replicas
-- law: one state each. First that holds: lost, serving, cold_start, unknown, stuck, unattributed, unloaded,
-- tool_wait, between_steps, spare, no_task
create or replace temp table ledger_laid as
with loads as (
    select
        load,
        (load >> 66)::bigint as situation,
        (load & 65535)::bigint as in_flight,
        (load >> 16 & 65535)::bigint as for_steps,
        (load >> 32 & 65535)::bigint as tools_add,
        (load >> 48 & 65535)::bigint as others_add,
        (load >> 64 & 1) = 1 as is_held,
        (load >> 65 & 1) = 1 as is_shared
    from (
        select load from ledger_loads where length_ns > 0
        union
        select load from ledger_band_loads
    )
),

counted as (
    select
        loads.*,
        replicas.replica_number,
        replicas.gpus,
        replicas.micro_usd,
        replicas.evidence,
        replicas.is_named,
        replicas.is_named or replicas.evidence not in ('lost', 'cold_start') as can_serve,
        count(*) filter (where replicas.is_named) over situation as named,
        count(*) filter (where replicas.evidence not in ('lost', 'cold_start')) over situation as available,
        count(*) filter (where replicas.evidence in ('busy', 'unattributed')) over situation as busy
    from loads
    inner join ledger_situation_replicas as replicas on replicas.situation = loads.situation
    window situation as (partition by loads.load)
),

ordered as (
    select
        *,
        case
            when is_shared then greatest(named, least(available, in_flight, greatest(for_steps, busy)))
            else named
        end as busy_replicas,
        -- a card with no process, or a stuck one, is the last to be believed to serve
        row_number() over (
            partition by load
            order by
                can_serve desc,
                is_named desc,
                evidence in ('busy', 'unattributed') desc,
                evidence in ('stuck', 'unloaded'),
                replica_number
        ) as place
    from counted
),

served as (
    select
        *,
        can_serve and place <= busy_replicas as is_serving,
        not (can_serve and place <= busy_replicas) and evidence in ('busy', 'loaded') as is_idle
    from ordered
),

idle as (
    select
        *,
        count(*) filter (where is_idle) over (partition by load) as idle_replicas,
        count(*) filter (where is_idle) over (partition by load order by place rows unbounded preceding) as idle_place
    from served
),

kept as (
    select
        *,
        least(greatest(for_steps + tools_add - greatest(busy_replicas, for_steps), 0), idle_replicas) as for_tools
    from idle
)

select
    load,
    situation,
    replica_number,
    gpus,
    micro_usd,
    case
        when evidence = 'lost' then 'lost'
        when is_serving then 'serving'
        when not is_idle then evidence
        when idle_place <= for_tools then 'tool_wait'
        when
            idle_place <= for_tools + least(
                greatest(for_steps + tools_add + others_add - greatest(busy_replicas, for_steps + tools_add), 0),
                idle_replicas - for_tools
            )
            then 'between_steps'
        when is_held then 'spare'
        else 'no_task'
    end as state
from kept
