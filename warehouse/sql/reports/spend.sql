-- grain: day x group; with per=range one row per group, its day null
-- inputs: steps, tasks, step_gpu, task_waits, gpu_ledger, gpus, gpu_rates
-- law: the days sum to the range in every zone, and every grouping to the same total. A cost is what is known of
--      it, null where nothing is; unknown_costs counts what is missing. Idle money that no task of the grouping
--      caused stands under the null group
-- params: group_by=all, per=day
with
labels as (
    select
        task_id,
        case $group_by
            when 'task' then task_id
            when 'agent' then agent
            when 'task_type' then task_type
            when 'tenant' then tenant
            when 'session' then session
            when 'user' then user_id
        end as label
    from tasks
),

tokens as (
    select
        s.start_ns as t_ns,
        case $group_by
            when 'all' then 'all'
            when 'model' then s.model
            when 'deployment' then s.deployment
            when 'provider' then s.provider
            when 'task' then l.label
            when 'agent' then l.label
            when 'task_type' then l.label
            when 'tenant' then l.label
            when 'session' then l.label
            when 'user' then l.label
            else error('spend: group_by is one of all, model, provider, deployment, task, agent, task_type, tenant, '
                || 'session, user')
        end as group_key,
        s.token_cost_usd,
        s.price_source
    from steps as s
    left join labels as l on s.task_id = l.task_id
    where
        s.counted
        and s.paid_by is not null
        -- A failed call that tells of no tokens has no cost that anyone misses.
        and (s.token_cost_usd is not null or s.input_tokens is not null or s.status <> 'error')
        and s.kind in ('llm', 'embedding')
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
),

served as (
    select
        g.quarter_ns as t_ns,
        case $group_by
            when 'all' then 'all'
            when 'deployment' then g.deployment
            when 'model' then s.model
            when 'provider' then s.provider
            else l.label
        end as group_key,
        g.deployment,
        g.cost_usd
    from step_gpu as g
    left join labels as l on g.task_id = l.task_id
    left join steps as s on $group_by in ('model', 'provider') and g.step_id = s.step_id and g.task_id = s.task_id
    where g.quarter_ns >= $since_ns and g.quarter_ns < $until_ns
),

waited as (
    select
        w.quarter_ns as t_ns,
        case $group_by
            when 'all' then 'all'
            when 'deployment' then w.deployment
            else l.label
        end as group_key,
        w.deployment,
        w.cost_usd
    from task_waits as w
    left join labels as l on w.task_id = l.task_id
    where w.quarter_ns >= $since_ns and w.quarter_ns < $until_ns
),

-- What the ledger holds in each state beyond what tasks were charged: nobody's, or nobody's alone.
rest as (
    select
        c.quarter_ns as t_ns,
        c.deployment,
        sum(c.cost_usd) as cost_usd
    from (
        select quarter_ns, deployment, cost_usd from gpu_ledger
        where state <> 'serving'
        union all
        select quarter_ns, deployment, -cost_usd from task_waits
    ) as c
    where c.quarter_ns >= $since_ns and c.quarter_ns < $until_ns
    group by c.quarter_ns, c.deployment
),

parts as (
    select t_ns, group_key, null as deployment, 'token' as kind, token_cost_usd as cost_usd, price_source from tokens
    union all
    select t_ns, group_key, deployment, 'gpu', cost_usd, null from served
    union all
    select t_ns, group_key, deployment, 'idle', cost_usd, null from waited
    union all
    select
        t_ns,
        case $group_by when 'all' then 'all' when 'deployment' then deployment end,
        deployment,
        'idle',
        cost_usd,
        null
    from rest
),

-- Where the prices of a deployment's cards stand, over the range.
card_sources as (
    select g.deployment, string_agg(distinct r.source, '; ' order by r.source) as price_source
    from gpus as g
    inner join gpu_rates as r on g.gpu_id = r.gpu_id
    where r.from_ns < $until_ns and r.to_ns > $since_ns
    group by g.deployment
),

sourced as (
    select
        p.* exclude (price_source, deployment),
        case when p.kind = 'token' then p.price_source else c.price_source end as price_source
    from parts as p
    left join card_sources as c on p.kind <> 'token' and p.deployment is not distinct from c.deployment
)

select
    case $per
        when 'day' then timezone($zone, make_timestamptz(t_ns // 1000))::date
        when 'range' then null
        else error('spend: per is day or range')
    end as day,
    group_key,
    case when count(*) filter (where kind = 'token') > 0 then sum(cost_usd) filter (where kind = 'token') else 0 end
    ::decimal(38, 12) as token_cost_usd,
    case when count(*) filter (where kind = 'gpu') > 0 then sum(cost_usd) filter (where kind = 'gpu') else 0 end
    ::decimal(38, 12) as gpu_cost_usd,
    case when count(*) filter (where kind = 'idle') > 0 then sum(cost_usd) filter (where kind = 'idle') else 0 end
    ::decimal(38, 12) as idle_cost_usd,
    sum(cost_usd)::decimal(38, 12) as total_cost_usd,
    count(*) filter (where cost_usd is null) as unknown_costs,
    string_agg(distinct price_source, '; ' order by price_source) as price_source
from sourced
group by all
order by day, group_key nulls last
