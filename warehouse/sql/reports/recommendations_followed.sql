-- grain: advice that somebody followed
-- inputs: recommendations, gpu_ledger, steps, tasks
-- law: predicted is what the last advice before it was followed said; before and after are what its card, deployment or
--      agent's model calls (of cap_loops: its task type's) cost a day over the time the advice rested on, and from then until now. saved_usd_month is
--      their difference for 730 hours, null under a day of after or where a part has no price. It is what happened, not
--      what the change did: tasks a day stand beside it, and with as many as after saved_per_task_usd_month is what the
--      difference per task makes
with
clock as (
    select least($until_ns, $now_ns) as now_ns
),

followed as (
    select advice_id, max(made_ns) as followed_ns
    from recommendations
    where verdict = 'followed'
    group by advice_id
),

predicted as (
    select f.followed_ns, a.*
    from followed as f
    inner join recommendations as a on f.advice_id = a.advice_id and a.verdict = 'advice' and a.made_ns <= f.followed_ns
    qualify row_number() over (partition by a.advice_id order by a.made_ns desc, a.run_id desc) = 1
),

stretches as (
    select p.advice_id, 'before' as side, p.kind, p.target, p.deployment, p.agent, p.from_ns, p.until_ns
    from predicted as p
    union all
    select p.advice_id, 'after', p.kind, p.target, p.deployment, p.agent, p.followed_ns, c.now_ns
    from predicted as p
    cross join clock as c
    where c.now_ns > p.followed_ns
),

called as (
    select
        s.task_id,
        s.agent,
        coalesce(t.task_type, t.agent) as task_type,
        s.deployment,
        s.paid_by,
        s.start_ns,
        s.token_cost_usd
    from steps as s
    inner join tasks as t on s.task_id = t.task_id
    where s.counted and s.kind = 'llm'
),

spent as (
    select
        s.advice_id,
        s.side,
        case when count(*) = count(l.cost_usd) then sum(l.cost_usd) end as cost_usd
    from stretches as s
    inner join gpu_ledger as l
        on
            case when s.kind = 'release_gpu' then s.target = l.gpu_id else s.deployment = l.deployment end
            -- The quarter-hour in which the recording began is its own; that in which advice was followed is neither's.
            and l.quarter_ns > s.from_ns - case when s.side = 'before' then 900000000000 else 1 end
            and l.quarter_ns < s.until_ns
    group by s.advice_id, s.side
    union all
    select
        s.advice_id,
        s.side,
        case when count(*) = count(c.token_cost_usd) then sum(c.token_cost_usd) end
    from stretches as s
    inner join called as c on s.agent = case when s.kind = 'cap_loops' then c.task_type else c.agent end
    where
        s.deployment is null
        and s.kind <> 'release_gpu'
        and c.paid_by = 'tokens'
        and c.start_ns >= s.from_ns
        and c.start_ns < s.until_ns
    group by s.advice_id, s.side
),

worked as (
    select s.advice_id, s.side, count(distinct c.task_id) as tasks
    from stretches as s
    inner join called as c
        on
            case
                when s.deployment is not null then s.deployment = c.deployment
                when s.kind = 'cap_loops' then s.agent = c.task_type
                else s.agent = c.agent
            end
            and c.start_ns >= s.from_ns
            and c.start_ns < s.until_ns
    group by s.advice_id, s.side
),

sides as (
    select
        s.advice_id,
        s.side,
        (s.until_ns - s.from_ns) / 86400e9 as days,
        coalesce(w.tasks, 0) as tasks,
        -- A card or a deployment that is not held any more costs nothing: that is what was advised.
        case
            when c.advice_id is null and s.side = 'after' and (s.kind = 'release_gpu' or s.deployment is not null) then 0
            else c.cost_usd
        end as cost_usd
    from stretches as s
    left join spent as c on s.advice_id = c.advice_id and s.side = c.side
    left join worked as w on s.advice_id = w.advice_id and s.side = w.side
),

paired as (
    select
        b.advice_id,
        b.days as days_before,
        a.days as days_after,
        b.tasks / nullif(b.days, 0) as tasks_per_day_before,
        a.tasks / nullif(a.days, 0) as tasks_per_day_after,
        case when b.days > 0 then b.cost_usd / b.days end as usd_per_day_before,
        case when a.days >= 1 then a.cost_usd / a.days end as usd_per_day_after,
        b.cost_usd / nullif(b.tasks, 0) as usd_per_task_before,
        case when a.days >= 1 then a.cost_usd / nullif(a.tasks, 0) end as usd_per_task_after
    from sides as b
    left join sides as a on b.advice_id = a.advice_id and a.side = 'after'
    where b.side = 'before'
)

select
    p.advice_id,
    p.kind,
    p.target,
    make_timestamp(p.followed_ns // 1000) as followed_at,
    p.is_replayed,
    p.saving_usd_month as predicted_usd_month,
    p.saving_low_usd_month as predicted_low_usd_month,
    p.saving_high_usd_month as predicted_high_usd_month,
    ((x.usd_per_day_before - x.usd_per_day_after) * (730 / 24))::decimal(38, 12) as saved_usd_month,
    ((x.usd_per_task_before - x.usd_per_task_after) * x.tasks_per_day_after * (730 / 24))::decimal(38, 12)
        as saved_per_task_usd_month,
    x.usd_per_day_before::decimal(38, 12) as usd_per_day_before,
    x.usd_per_day_after::decimal(38, 12) as usd_per_day_after,
    x.tasks_per_day_before::double as tasks_per_day_before,
    x.tasks_per_day_after::double as tasks_per_day_after,
    x.days_before::double as days_before,
    x.days_after::double as days_after,
    case
        when x.days_after is null or x.days_after < 1 then 'less than a day has passed since'
        when x.usd_per_day_before is null then 'what it cost before is not all known'
        when x.usd_per_day_after is null then 'what it costs since is not all known'
    end as why_not,
    p.simulated
from predicted as p
left join paired as x on p.advice_id = x.advice_id
order by p.followed_ns desc, p.advice_id
