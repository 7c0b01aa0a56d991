-- grain: one row per task and bucket with tokens or money
-- inputs: touched_tasks, steps, step_buckets, step_gpu, task_waits
-- law: tokens sum to the task's, money to its total cost. GPU money of a call: the time to the first token less the
--      queue is its input's, the rest its output's; without it the weights are 1 for fresh input, 0.1 for what is
--      sent again or was served from a cache, 4 for output. Floored at 1e-12 USD, the rest to the heaviest bucket
insert into task_buckets by name
with
touched as (
    select distinct d.task_id
    from touched_tasks as d
    where d.task_id in (select t.task_id from task_tokens as t)
),

bills as (
    select
        g.task_id,
        g.step_id,
        case when count(*) = count(g.cost_usd) then sum(g.cost_usd) end::decimal(24, 12) as cost_usd
    from step_gpu as g
    where g.task_id in (select t.task_id from touched as t)
    group by g.task_id, g.step_id
),

worked as (
    select
        g.task_id,
        g.step_id,
        (g.cost_usd * 1000000000000::decimal(13, 0))::hugeint as units,
        coalesce(b.bucket, s.bucket, 'unsplit') as bucket,
        b.bucket in ('reasoning', 'answer', 'intermediate_output') as is_output,
        case
            when b.bucket is null then 1
            when b.bucket in ('reasoning', 'answer', 'intermediate_output') then b.tokens * 40
            when b.cached_tokens is not null then b.tokens * 10 - b.cached_tokens * 9
            when b.bucket in ('resent_context', 'tool_schema') then b.tokens
            else b.tokens * 10
        end::hugeint as weight,
        s.busy_end_ns - s.busy_start_ns as busy_ns,
        -- Written out, for least() and greatest() pass over null.
        case
            when s.ttft_ns is not null
                then greatest(least(s.ttft_ns - coalesce(s.queue_ns, 0), s.busy_end_ns - s.busy_start_ns), 0)
        end as prefill_ns
    from bills as g
    inner join steps as s on g.step_id = s.step_id and g.task_id = s.task_id
    left join step_buckets as b on g.step_id = b.step_id and g.task_id = b.task_id
    where g.cost_usd is not null
),

weighed as (
    select
        *,
        sum(weight) over step::hugeint as all_weight,
        coalesce(sum(weight) filter (where is_output) over step, 0)::hugeint as output_weight
    from worked
    window step as (partition by task_id, step_id)
),

phased as (
    select
        *,
        case
            when prefill_ns is null or busy_ns <= 0 or output_weight = 0 or output_weight = all_weight then units
            when is_output then units - units * prefill_ns // busy_ns
            else units * prefill_ns // busy_ns
        end as phase_units,
        case
            when prefill_ns is null or busy_ns <= 0 or output_weight = 0 or output_weight = all_weight then all_weight
            when is_output then output_weight
            else all_weight - output_weight
        end as phase_weight
    from weighed
),

floored as (
    select
        *,
        phase_units * weight // phase_weight as floor_units,
        row_number() over (partition by task_id, step_id order by weight desc, bucket) as place
    from phased
),

shares as (
    select
        task_id,
        bucket,
        floor_units
        + case when place = 1 then units - sum(floor_units) over (partition by task_id, step_id) else 0 end as units
    from floored
),

parts as (
    select task_id, bucket, tokens, token_cost_usd, null as gpu_cost_usd
    from step_buckets
    where task_id in (select t.task_id from touched as t)
    union all
    select task_id, bucket, 0, null, (units::decimal(25, 0) * 0.000000000001::decimal(12, 12))::decimal(38, 12)
    from shares
    union all
    select task_id, 'gpu_wait', 0, null, cost_usd
    from task_waits
    where task_id in (select t.task_id from touched as t)
)

select
    task_id,
    bucket,
    sum(tokens)::bigint as tokens,
    sum(token_cost_usd)::decimal(38, 12) as token_cost_usd,
    sum(gpu_cost_usd)::decimal(38, 12) as gpu_cost_usd,
    case
        when count(token_cost_usd) + count(gpu_cost_usd) > 0
            then coalesce(sum(token_cost_usd), 0) + coalesce(sum(gpu_cost_usd), 0)
    end::decimal(38, 12) as cost_usd
from parts
group by task_id, bucket
