-- grain: step that occupied a deployment with GPUs, in or near a dirty quarter-hour
-- inputs: steps, ledger_pools, ledger_gpus, dirty_quarters, ledger_reach, setting
-- law: only counted leaves are in flight; a step of no length occupies nothing
create or replace temp table ledger_steps as
with reach as (
    select min(quarter_ns) - any_value(back_ns) as from_ns, max(quarter_ns) + 900000000000 + any_value(back_ns) as to_ns
    from dirty_quarters, ledger_reach
),

replicas as (
    select pool, replica as name, replica_number from ledger_gpus where replica is not null
    union
    select pool, gpu_uuid, min(replica_number) from ledger_gpus where gpu_uuid is not null group by pool, gpu_uuid
)

select
    row_number() over () as step,
    steps.task_id,
    steps.step_id,
    ledger_pools.pool,
    replicas.replica_number, -- null where it names none, or none that is there
    steps.busy_start_ns as from_ns,
    steps.busy_end_ns as to_ns,
    -- token work: 10 for a token of input that was not cached, 1 for one that was, 40 for one of output
    case
        when (select weights = 'tokens' from setting) and steps.input_tokens is not null and steps.output_tokens is not null
            then least(
                1000000000,
                greatest(
                    1,
                    (
                        10 * greatest(steps.input_tokens - coalesce(steps.cache_read_tokens, 0), 0)
                        + least(coalesce(steps.cache_read_tokens, 0), steps.input_tokens)
                        + 40 * steps.output_tokens
                    )::hugeint * 1000000000 // (steps.busy_end_ns - steps.busy_start_ns)
                )
            )::bigint
    end as work_per_s
from steps
inner join ledger_pools on ledger_pools.deployment = steps.deployment
left join replicas on replicas.pool = ledger_pools.pool and replicas.name = steps.replica
where
    steps.busy_start_ns < steps.busy_end_ns
    and steps.counted
    and steps.is_leaf
    and steps.busy_start_ns < (select to_ns from reach)
    and steps.busy_end_ns > (select from_ns from reach)
