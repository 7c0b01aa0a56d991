-- grain: step, and the spans beside it that could have been one (counted tells)
-- inputs: steps, step_gpu, gpu_ledger
-- law: counted rows sum to the task; cost_usd is token and GPU cost, null where unknown; a step that tells no
--      duration has none
-- params: task_id
with
-- How sure the ledger is of what a deployment served in a quarter-hour: as sure as of the least sure of its parts.
served as (
    select
        quarter_ns,
        deployment,
        case
            when bool_or(provenance = 'simulated') then 'simulated'
            when bool_and(provenance = 'measured') then 'measured'
            else 'estimated'
        end as provenance
    from gpu_ledger
    where state = 'serving'
    group by quarter_ns, deployment
),

gpu as (
    select
        g.task_id,
        g.step_id,
        case when count(*) = count(g.cost_usd) then sum(g.cost_usd) end as cost_usd,
        sum(g.gpu_ns) as gpu_ns,
        case
            when bool_or(d.provenance = 'simulated') then 'simulated'
            when bool_and(coalesce(d.provenance, '') = 'measured') then 'measured'
            else 'estimated'
        end as provenance
    from step_gpu as g
    left join served as d on g.quarter_ns = d.quarter_ns and g.deployment = d.deployment
    where $task_id is null or g.task_id = $task_id
    group by g.task_id, g.step_id
),

counted as (
    select task_id, round, start_ns, end_ns, step_id
    from steps
    where counted and ($task_id is null or task_id = $task_id)
),

-- How long a step could have been later without moving what the task did next.
slacks as (
    select c.task_id, c.step_id, n.start_ns - c.end_ns as slack_ns
    from counted as c
    asof inner join (
        select task_id, start_ns from counted
        group by task_id, start_ns
    ) as n on c.task_id = n.task_id and c.end_ns <= n.start_ns
)

select
    s.task_id,
    s.step_id,
    s.parent_step_id,
    s.call_id,
    s.trace_id,
    s.span_id,
    s.thread,
    s.round,
    s.kind,
    s.name,
    s.tool_name,
    s.agent,
    s.provider,
    s.model,
    s.deployment,
    s.replica,
    s.paid_by,
    make_timestamp_ns(s.start_ns)::timestamp as started_at,
    make_timestamp_ns(s.end_ns)::timestamp as ended_at,
    case when not coalesce(s.is_untimed, false) then (s.end_ns - s.start_ns) / 1e9 end as duration_s,
    k.slack_ns / 1e9 as slack_s,
    s.status,
    s.error_type,
    s.attempt,
    s.attempts,
    s.counted,
    s.why,
    s.is_leaf,
    s.waits_for_person,
    s.bucket,
    s.input_tokens,
    s.input_tokens_high,
    s.cache_read_tokens,
    s.cache_write_tokens,
    s.output_tokens,
    s.reasoning_tokens,
    s.tool_schema_tokens,
    s.resent_tokens,
    s.ttft_ns / 1e9 as ttft_s,
    s.queue_ns / 1e9 as queue_s,
    s.work_ns / 1e9 as work_s,
    s.finish_reason,
    case
        when s.paid_by = 'gpu' then g.cost_usd
        when s.counted and s.paid_by = 'nothing' then 0
        else s.token_cost_usd
    end::decimal(38, 12) as cost_usd,
    s.token_cost_usd,
    g.cost_usd as gpu_cost_usd,
    g.gpu_ns / 1e9 as gpu_s,
    s.reported_cost_usd,
    s.price_source,
    s.token_provenance,
    case
        when not s.counted or s.paid_by = 'nothing' then null
        when s.paid_by = 'gpu' and g.cost_usd is not null then g.provenance
        when s.paid_by = 'tokens' and s.token_cost_usd is not null and s.simulated then 'simulated'
        when s.paid_by = 'tokens' and s.token_cost_usd is not null then 'estimated'
        else 'unknown'
    end as cost_provenance,
    case
        when s.paid_by <> 'gpu' or s.paid_by is null then null
        else coalesce(g.provenance, 'unknown')
    end as gpu_provenance,
    s.simulated
from steps as s
left join gpu as g on s.task_id = g.task_id and s.step_id = g.step_id
left join slacks as k on s.task_id = k.task_id and s.step_id = k.step_id
where
    s.start_ns >= $since_ns
    and s.start_ns < $until_ns
    and ($task_id is null or s.task_id = $task_id)
order by s.task_id, s.start_ns, s.end_ns desc, s.step_id
