-- grain: deployment x group; rows with a note of their own for what cannot be spread
-- inputs: step_gpu, task_waits, gpu_ledger, tasks
-- law: loaded and unknown cost sum to the bill of gpu_ledger. What belongs to the fleet (spare, no_task, unloaded, stuck,
-- lost, unattributed, cold_start) is spread in proportion to what each group paid of the deployment itself; where nobody
-- paid it stays on a row without a group, as does the cost of time that no sample speaks for. Null where a part of it
-- has no price
-- params: group_by=task, deployment
with labels as (
    select
        task_id,
        case $group_by
            when 'all' then 'all'
            when 'task' then task_id
            when 'agent' then agent
            when 'task_type' then task_type
            when 'tenant' then tenant
            when 'session' then session
            when 'user' then user_id
            else error('fully_loaded: group_by is one of task, agent, task_type, tenant, session, user, all')
        end as group_key
    from tasks
),

paid as (
    -- a step that nothing could serve paid nothing
    select deployment, task_id, quarter_ns, true as is_serving, cost_usd from step_gpu where gpu_ns > 0 or cost_usd > 0
    union all
    select deployment, task_id, quarter_ns, false, cost_usd from task_waits
),

-- money in whole 1e-12 USD, too
own as (
    select
        paid.deployment,
        labels.group_key,
        bool_and(paid.cost_usd is not null) as is_priced,
        coalesce(sum(paid.cost_usd) filter (where paid.is_serving), 0)::decimal(38, 12) as gpu_cost_usd,
        coalesce(sum(paid.cost_usd) filter (where not paid.is_serving), 0)::decimal(38, 12) as wait_cost_usd,
        ((sum(paid.cost_usd)::decimal(30, 12) * 1000000)::decimal(31, 6) * 1000000)::hugeint as own_pico
    from paid
    left join labels on labels.task_id = paid.task_id
    where
        paid.quarter_ns >= $since_ns
        and paid.quarter_ns < $until_ns
        and ($deployment is null or paid.deployment = $deployment)
    group by paid.deployment, labels.group_key
),

fleet as (
    select
        deployment,
        bool_and(cost_usd is not null) filter (where state != 'unknown') as is_priced,
        ((coalesce(sum(cost_usd) filter (where state != 'unknown'), 0)::decimal(30, 12) * 1000000)::decimal(31, 6) * 1000000)
            ::hugeint as fleet_pico,
        count(*) filter (where state = 'unknown') > 0 as has_unknown,
        case
            when bool_and(cost_usd is not null) filter (where state = 'unknown')
                then sum(cost_usd) filter (where state = 'unknown')
        end as unknown_cost_usd
    from gpu_ledger
    where
        quarter_ns >= $since_ns
        and quarter_ns < $until_ns
        and ($deployment is null or deployment = $deployment)
        and state not in ('serving', 'tool_wait', 'between_steps')
    group by deployment
),

totals as (
    select deployment, bool_and(is_priced) as is_priced, sum(own_pico) as own_pico
    from own
    group by deployment
),

shared as (
    select
        own.*,
        coalesce(fleet.fleet_pico, 0) as fleet_pico,
        totals.own_pico as total_pico,
        totals.is_priced and coalesce(fleet.is_priced, true) and totals.own_pico > 0 as is_spread,
        coalesce(fleet.fleet_pico, 0) * own.own_pico // nullif(totals.own_pico, 0) as whole_pico,
        coalesce(fleet.fleet_pico, 0) * own.own_pico % nullif(totals.own_pico, 0) as remainder
    from own
    inner join totals on totals.deployment = own.deployment
    left join fleet on fleet.deployment = own.deployment
),

spread as (
    select
        *,
        whole_pico + (
            row_number() over (partition by deployment order by remainder desc, group_key)
            <= fleet_pico - sum(whole_pico) over (partition by deployment)
        )::integer as spread_pico
    from shared
),

listed as (
    select
        deployment,
        group_key,
        case when is_priced then gpu_cost_usd end as gpu_cost_usd,
        case when is_priced then wait_cost_usd end as wait_cost_usd,
        case when is_spread then spread_pico::decimal(26, 0) * 0.000000000001::decimal(12, 12) end as fleet_cost_usd,
        case when is_spread then own_pico::double / total_pico::double end as share_ratio,
        null::decimal(38, 12) as unknown_cost_usd,
        case
            when is_spread then 'the fleet''s cost is spread in proportion to what each paid itself'
            else 'not spread: a price is missing, or nobody paid anything'
        end as note
    from spread
    union all
    select
        fleet.deployment,
        null,
        null,
        null,
        case when fleet.is_priced then fleet.fleet_pico::decimal(26, 0) * 0.000000000001::decimal(12, 12) end,
        null,
        null,
        case
            when fleet.deployment is null then 'not spread: cards that no deployment claims'
            else 'not spread: nobody used the deployment, or a price is missing'
        end
    from fleet
    where
        fleet.is_priced is not null
        and fleet.deployment not in (select spread.deployment from spread where spread.is_spread) is not false
    union all
    select deployment, null, null, null, null, null, unknown_cost_usd, 'not spread: no sample speaks for the time'
    from fleet
    where has_unknown
)

select
    deployment,
    group_key,
    gpu_cost_usd::decimal(38, 12) as gpu_cost_usd,
    wait_cost_usd::decimal(38, 12) as wait_cost_usd,
    fleet_cost_usd::decimal(38, 12) as fleet_cost_usd,
    case
        when share_ratio is not null then gpu_cost_usd + wait_cost_usd + fleet_cost_usd
        when group_key is null and gpu_cost_usd is null then fleet_cost_usd
    end::decimal(38, 12) as loaded_cost_usd,
    share_ratio,
    unknown_cost_usd,
    note
from listed
order by deployment nulls last, loaded_cost_usd desc nulls last, group_key nulls last, note
