-- grain: task
-- inputs: tasks
-- law: every figure is the task's own row; null is unknown. Costs hold what is known, the ratios say how much that is
-- params: task_id, session, limit=1000000
select
    task_id,
    trace_ids,
    name,
    agent,
    task_type,
    tenant,
    session,
    user_id,
    status,
    make_timestamp_ns(start_ns)::timestamp as started_at,
    make_timestamp_ns(end_ns)::timestamp as ended_at,
    -- A task between one instant and the same is one whose calls told no length: unknown, not 0.
    nullif(end_ns - start_ns, 0) / 1e9 as duration_s,
    steps,
    rounds,
    llm_calls,
    llm_attempts,
    retries,
    tool_calls,
    tool_retries,
    loops,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    total_tokens,
    unexplained_tokens,
    single_pass_tokens,
    token_multiplier,
    token_cost_usd,
    token_cost_low_usd,
    token_cost_high_usd,
    gpu_cost_usd,
    wait_cost_usd,
    total_cost_usd,
    single_pass_cost_usd,
    cost_multiplier,
    reported_cost_usd,
    usage_known_ratio,
    priced_ratio,
    gpu_known_ratio,
    provisional,
    simulated
from tasks
where
    start_ns >= $since_ns
    and start_ns < $until_ns
    and ($task_id is null or task_id = $task_id)
    and ($session is null or session = $session)
order by start_ns desc, task_id
limit $limit
