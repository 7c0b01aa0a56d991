-- grain: bucket x group
-- inputs: task_buckets, tasks, task_tokens, steps
-- law: factors are taken away in the order of place; the product of factor_ratio over a group is its cost multiplier,
--      that of token_factor_ratio its token multiplier. Only tasks whose multiplier is known stand in either;
--      tasks_left_out counts the others, their reasons are in no_answer
-- params: group_by=all, task_id
with
chosen as (
    select
        t.task_id,
        t.token_multiplier is not null as has_tokens,
        t.cost_multiplier is not null as has_cost,
        case $group_by
            when 'all' then 'all'
            when 'task' then t.task_id
            when 'agent' then t.agent
            when 'task_type' then t.task_type
            when 'tenant' then t.tenant
            when 'session' then t.session
            when 'model' then a.model
            when 'day' then strftime(timezone($zone, make_timestamptz(t.start_ns // 1000)), '%Y-%m-%d')
            else error('multipliers: group_by is one of all, task, agent, task_type, tenant, session, model, day')
        end as group_key
    from tasks as t
    inner join task_tokens as k on t.task_id = k.task_id
    left join steps as a on $group_by = 'model' and k.answer_step_id = a.step_id and t.task_id = a.task_id
    where t.start_ns >= $since_ns and t.start_ns < $until_ns and ($task_id is null or t.task_id = $task_id)
),

places as (
    select unnest(names) as bucket, generate_subscripts(names, 1) as place
    from (
        select [
            'gpu_wait', 'loop', 'retried', 'tool_schema', 'resent_context', 'reasoning', 'intermediate_output',
            'fresh_later', 'first_prompt', 'answer'
        ] as names
    )
),

groups as (
    select
        group_key,
        count(*) filter (where has_tokens) as tasks,
        count(*) filter (where has_cost) as cost_tasks,
        count(*) filter (where not has_tokens) as tasks_left_out
    from chosen
    group by group_key
),

summed as (
    select
        c.group_key,
        b.bucket,
        sum(b.tokens) filter (where c.has_tokens) as tokens,
        sum(coalesce(b.cost_usd, 0)) filter (where c.has_cost) as cost_usd
    from chosen as c
    inner join task_buckets as b on c.task_id = b.task_id
    group by c.group_key, b.bucket
),

laid as (
    select
        g.*,
        p.bucket,
        p.place,
        coalesce(s.tokens, 0)::bigint as tokens,
        coalesce(s.cost_usd, 0)::decimal(38, 12) as cost_usd
    from groups as g
    cross join places as p
    left join summed as s on g.group_key is not distinct from s.group_key and p.bucket = s.bucket
    where g.tasks > 0
),

left_over as (
    select
        *,
        sum(tokens) over rest as tokens_before,
        sum(cost_usd) over rest as cost_before,
        sum(tokens) over (partition by group_key) as all_tokens,
        sum(cost_usd) over (partition by group_key) as all_cost
    from laid
    window rest as (partition by group_key order by place rows between current row and unbounded following)
)

select
    group_key,
    bucket,
    place,
    tokens,
    case when cost_tasks > 0 then cost_usd end as cost_usd,
    case when cost_tasks > 0 then cost_usd::double / nullif(all_cost, 0)::double end as share_ratio,
    tokens / nullif(all_tokens, 0) as token_share_ratio,
    case
        when cost_tasks > 0 and bucket not in ('first_prompt', 'answer')
            then cost_before::double / nullif(cost_before - cost_usd, 0)::double
    end as factor_ratio,
    case
        when bucket not in ('first_prompt', 'answer') then tokens_before / nullif(tokens_before - tokens, 0)
    end as token_factor_ratio,
    tasks,
    cost_tasks,
    tasks_left_out
from left_over
order by group_key, place
