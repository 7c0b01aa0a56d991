-- grain: GPU x stretch in which a model is loaded onto it, near the dirty quarter-hours
-- inputs: ledger_windows, ledger_gpus, steps
-- law: from the window in which an empty card began to be held, until the first step that its replica finished, or until
-- its memory has been the same (within 1 % and 64 MiB) for 60 s, for a quarter-hour at most
create or replace temp table ledger_colds as
with told as (
    select
        gpu,
        from_ns,
        to_ns,
        code,
        is_empty,
        is_held,
        lag(is_empty) over windows as was_empty,
        lag(to_ns) over windows = from_ns as follows,
        max(memory_used_mib) over minute as most_mib,
        min(memory_used_mib) over minute as least_mib,
        min(to_ns) over minute as minute_from_ns
    from ledger_windows
    window
        windows as (partition by gpu order by to_ns),
        minute as (partition by gpu order by to_ns range between 60000000000 preceding and current row)
),

begun as (
    select gpu, from_ns, from_ns + 900000000000 as limit_ns
    from told
    where was_empty and is_held and follows and code != 6
),

settled as (
    select begun.gpu, begun.from_ns, min(told.to_ns) as to_ns
    from begun
    inner join told
        on told.gpu = begun.gpu
        and told.to_ns >= begun.from_ns + 60000000000
        and told.to_ns <= begun.limit_ns
        and told.minute_from_ns > begun.from_ns
        and told.minute_from_ns <= told.to_ns - 55000000000
        and told.most_mib - told.least_mib <= greatest(64, 0.01 * told.most_mib)
    group by begun.gpu, begun.from_ns
),

finished as (
    select begun.gpu, begun.from_ns, min(steps.busy_end_ns) as to_ns
    from begun
    inner join ledger_gpus on ledger_gpus.gpu = begun.gpu
    inner join steps
        on steps.deployment = ledger_gpus.deployment
        and steps.busy_end_ns > begun.from_ns
        and steps.busy_end_ns <= begun.limit_ns
        and steps.busy_start_ns < steps.busy_end_ns
        and steps.counted
        and steps.is_leaf
        and (steps.replica is null or steps.replica in (ledger_gpus.replica, ledger_gpus.gpu_uuid))
    group by begun.gpu, begun.from_ns
),

-- a card that is emptied again has stopped loading
emptied as (
    select begun.gpu, begun.from_ns, min(told.from_ns) as to_ns
    from begun
    inner join told on told.gpu = begun.gpu and told.from_ns > begun.from_ns and told.is_empty
    group by begun.gpu, begun.from_ns
)

select
    begun.gpu,
    begun.from_ns,
    least(begun.limit_ns, settled.to_ns, finished.to_ns, emptied.to_ns) as to_ns
from begun
left join settled on settled.gpu = begun.gpu and settled.from_ns = begun.from_ns
left join finished on finished.gpu = begun.gpu and finished.from_ns = begun.from_ns
left join emptied on emptied.gpu = begun.gpu and emptied.from_ns = begun.from_ns
