-- grain: GPU x unbroken stretch in one state, cut at quarter-hours
-- inputs: ledger_runs, ledger_laid, ledger_situation_gpus, ledger_gpus
-- law: tiles what is held of each GPU
insert into gpu_timeline by name
with told as (
    select
        runs.quarter_ns,
        gpus.gpu,
        runs.from_ns,
        runs.to_ns,
        laid.state,
        case laid.state when 'tool_wait' then runs.tool_cause when 'between_steps' then runs.other_cause end as cause,
        case
            when ledger_gpus.simulated then 'simulated'
            when laid.state = 'unknown' then 'unknown'
            when gpus.code in (5, 8) then 'estimated'
            else 'measured'
        end as provenance,
        laid.state = 'serving' and gpus.code in (1, 2) as stalled
    from ledger_runs as runs
    inner join ledger_laid as laid on laid.load = runs.load
    inner join ledger_situation_gpus as gpus
        on gpus.situation = laid.situation and gpus.replica_number = laid.replica_number
    inner join ledger_gpus on ledger_gpus.gpu = gpus.gpu
),

marked as (
    select
        *,
        (state, cause, provenance, stalled, from_ns)
        is not distinct from lag((state, cause, provenance, stalled, to_ns)) over boundary as joins
    from told
    window boundary as (partition by quarter_ns, gpu order by from_ns)
),

numbered as (
    select
        *,
        sum((not joins)::integer) over (partition by quarter_ns, gpu order by from_ns rows unbounded preceding)
            as stretch
    from marked
),

stretches as (
    select
        quarter_ns,
        gpu,
        min(from_ns) as from_ns,
        max(to_ns) as to_ns,
        any_value(state) as state,
        any_value(cause) as cause,
        any_value(provenance) as provenance,
        any_value(stalled) as stalled
    from numbered
    group by quarter_ns, gpu, stretch
)

select
    stretches.quarter_ns,
    ledger_gpus.gpu_id,
    ledger_gpus.deployment,
    ledger_gpus.replica,
    stretches.from_ns,
    stretches.to_ns,
    stretches.state,
    stretches.cause,
    stretches.provenance,
    stretches.stalled
from stretches
inner join ledger_gpus on ledger_gpus.gpu = stretches.gpu
