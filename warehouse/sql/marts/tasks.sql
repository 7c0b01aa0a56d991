-- grain: one row per task
-- inputs: touched_tasks, task_tokens, task_buckets, steps, step_gpu, task_waits, setting
-- law: total cost is token, GPU and waiting cost, of each what is known; null where nothing is. A multiplier needs
--      all of its task known: usage, prices, the GPU's cost and the single pass
insert into tasks by name
with
touched as (
    select t.*
    from task_tokens as t
    where t.task_id in (select d.task_id from touched_tasks as d)
),

bills as (
    select
        s.task_id,
        s.step_id,
        s.busy_end_ns > s.busy_start_ns as was_busy,
        count(g.step_id) as pieces,
        count(g.cost_usd) as priced_pieces,
        sum(g.cost_usd) as cost_usd
    from steps as s
    left join step_gpu as g on s.step_id = g.step_id and s.task_id = g.task_id
    where s.counted and s.paid_by = 'gpu' and s.task_id in (select t.task_id from touched as t)
    group by s.task_id, s.step_id, s.busy_start_ns, s.busy_end_ns
),

gpu as (
    select
        task_id,
        count(*) as steps,
        -- A step that took no time occupied nothing: that it cost nothing is known.
        count(*) filter (where (pieces > 0 and pieces = priced_pieces) or not coalesce(was_busy, true)) as known_steps,
        sum(case when pieces = priced_pieces then cost_usd end) as cost_usd
    from bills
    group by task_id
),

waits as (
    select task_id, count(*) as pieces, sum(cost_usd) as cost_usd
    from task_waits
    where task_id in (select t.task_id from touched as t)
    group by task_id
),

passes as (
    select
        b.task_id,
        case when count(*) = count(b.cost_usd) then sum(b.cost_usd) end as cost_usd
    from task_buckets as b
    where b.bucket in ('first_prompt', 'answer') and b.task_id in (select t.task_id from touched as t)
    group by b.task_id
),

joined as (
    select
        t.*,
        case
            when g.steps is null then 0
            when g.known_steps > 0 then coalesce(g.cost_usd, 0)
        end::decimal(38, 12) as gpu_cost_usd,
        case
            when w.pieces > 0 then w.cost_usd
            when g.steps is null or g.known_steps > 0 then 0
        end::decimal(38, 12) as wait_cost_usd,
        case when t.single_pass_tokens is not null then p.cost_usd end::decimal(38, 12) as single_pass_cost_usd,
        case when g.steps > 0 then g.known_steps / g.steps else 1 end as gpu_known_ratio
    from touched as t
    left join gpu as g on t.task_id = g.task_id
    left join waits as w on t.task_id = w.task_id
    left join passes as p on t.task_id = p.task_id
),

totalled as (
    select
        *,
        -- Nothing known beside something unknown is unknown: a free half says nothing about the other.
        case
            when token_cost_usd is null or gpu_cost_usd is null or wait_cost_usd is null then nullif(known_usd, 0)
            else known_usd
        end::decimal(38, 12) as total_cost_usd
    from (
        select
            *, coalesce(token_cost_usd, 0) + coalesce(gpu_cost_usd, 0) + coalesce(wait_cost_usd, 0) as known_usd
        from joined
    )
)

select
    t.* exclude (is_open, answer_step_id, first_step_id, known_usd),
    case when t.usage_known_ratio = 1 then t.total_tokens / nullif(t.single_pass_tokens, 0) end as token_multiplier,
    case
        when
            t.usage_known_ratio = 1
            and t.priced_ratio = 1
            and t.gpu_known_ratio = 1
            and t.wait_cost_usd is not null
            then t.total_cost_usd::double / nullif(t.single_pass_cost_usd, 0)::double
    end as cost_multiplier,
    t.is_open or t.end_ns + w.settle_ns > w.now_ns as provisional
from totalled as t
cross join setting as w
