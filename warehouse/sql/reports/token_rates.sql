-- grain: deployment with GPUs x model it served; one row without a model where it served nothing
-- inputs: steps, step_gpu, gpu_ledger, gpus, gpu_rates, price_state, price_names, token_prices
-- law: floor = money of the serving seconds of the steps over their tokens, as if the cards always served as they did;
--      the measured rate is the floor times all held money over serving money, so that idle time is in it and the
--      rates times the tokens sum to the bill. Null where nothing was served or a part has no price, never 0 and never
--      infinite. Steps and ledger only: what an engine counts, and forgets when it starts again, is not asked
-- params: deployment
with
served as (
    select
        s.step_id,
        s.task_id,
        s.deployment,
        s.model,
        s.provider,
        s.start_ns,
        s.input_tokens,
        s.output_tokens,
        least(coalesce(s.cache_read_tokens, 0), s.input_tokens) as read_tokens,
        s.input_tokens is not null and (s.output_tokens is not null or s.kind = 'embedding') as is_known
    from steps as s
    where
        s.counted
        and s.paid_by = 'gpu'
        and s.deployment is not null
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
        and ($deployment is null or s.deployment = $deployment)
),

money as (
    select
        g.task_id,
        g.step_id,
        sum(g.gpu_ns) as gpu_ns,
        case when count(*) = count(g.cost_usd) then sum(g.cost_usd) end as cost_usd
    from step_gpu as g
    where (g.task_id, g.step_id) in (select (v.task_id, v.step_id) from served as v)
    group by g.task_id, g.step_id
),

-- What the same tokens cost where a list sells the model, each call by its own time and prompt.
listed as (
    select
        v.step_id,
        v.task_id,
        t.source,
        (
            (v.input_tokens - v.read_tokens) * t.input_usd
            + v.read_tokens * coalesce(t.cache_read_usd, t.input_usd)
            + coalesce(v.output_tokens, 0) * t.output_usd
        ) as cost_usd
    from served as v
    inner join price_names as n
        on
            n.known_ns = (select max(e.made_ns) from price_state as e)
            and coalesce(v.provider, '') = n.provider
            and v.model = n.model
    inner join token_prices as t
        on
            n.known_ns = t.known_ns
            and n.priced_as = t.model
            and t.service_tier is null
            and v.start_ns >= t.from_ns
            and (t.to_ns is null or v.start_ns < t.to_ns)
            and v.input_tokens >= t.prompt_from_tokens
            and (t.prompt_to_tokens is null or v.input_tokens < t.prompt_to_tokens)
            and case
                when t.day_from_s is null or t.day_to_s is null then true
                when t.day_from_s < t.day_to_s
                    then v.start_ns // 1000000000 % 86400 >= t.day_from_s and v.start_ns // 1000000000 % 86400 < t.day_to_s
                else v.start_ns // 1000000000 % 86400 >= t.day_from_s or v.start_ns // 1000000000 % 86400 < t.day_to_s
            end
    where v.is_known
    qualify
        row_number() over (
            partition by v.task_id, v.step_id
            order by t.is_user_row desc, t.from_ns desc, t.prompt_from_tokens desc, t.day_from_s is null, t.price_id
        ) = 1
),

by_model as (
    select
        v.deployment,
        v.model,
        count(*) as calls,
        count(*) filter (where v.is_known) as calls_with_usage,
        sum(v.input_tokens) filter (where v.is_known)::bigint as input_tokens,
        sum(v.output_tokens) filter (where v.is_known)::bigint as output_tokens,
        nullif(sum(v.input_tokens + coalesce(v.output_tokens, 0)) filter (where v.is_known), 0)::bigint as tokens,
        sum(m.gpu_ns) as gpu_ns,
        case
            when bool_and(m.cost_usd is not null) filter (where v.is_known)
                then sum(m.cost_usd) filter (where v.is_known)
        end as cost_usd,
        case
            when bool_and(l.cost_usd is not null) filter (where v.is_known)
                then sum(l.cost_usd) filter (where v.is_known)
        end as list_cost_usd,
        string_agg(distinct l.source, '; ' order by l.source) as list_price_source
    from served as v
    left join money as m on v.task_id = m.task_id and v.step_id = m.step_id
    left join listed as l on v.task_id = l.task_id and v.step_id = l.step_id
    group by v.deployment, v.model
),

held as (
    select
        deployment,
        sum(gpu_ns) as gpu_ns,
        case when count(*) = count(cost_usd) then sum(cost_usd) end as cost_usd,
        sum(gpu_ns) filter (where state = 'serving') as serving_ns,
        case
            when bool_and(cost_usd is not null) filter (where state = 'serving')
                then sum(cost_usd) filter (where state = 'serving')
        end as serving_cost_usd
    from gpu_ledger
    where
        deployment is not null
        and quarter_ns >= $since_ns
        and quarter_ns < $until_ns
        and ($deployment is null or deployment = $deployment)
    group by deployment
),

sources as (
    select g.deployment, string_agg(distinct r.source, '; ' order by r.source) as price_source
    from gpus as g
    inner join gpu_rates as r on g.gpu_id = r.gpu_id
    where r.from_ns < $until_ns and r.to_ns > $since_ns
    group by g.deployment
)

select
    h.deployment,
    m.model,
    m.calls,
    m.calls_with_usage,
    m.input_tokens,
    m.output_tokens,
    (m.gpu_ns / 1e9)::double as serving_gpu_s,
    (h.gpu_ns / 1e9)::double as held_gpu_s,
    (h.serving_cost_usd / nullif(h.cost_usd, 0))::double as utilization_ratio,
    m.cost_usd::decimal(38, 12) as serving_cost_usd,
    h.cost_usd::decimal(38, 12) as held_cost_usd,
    (m.cost_usd / m.tokens * 1000000 * (h.cost_usd / nullif(h.serving_cost_usd, 0)))::decimal(38, 12) as usd_per_mtok,
    (m.cost_usd / m.tokens * 1000000)::decimal(38, 12) as floor_usd_per_mtok,
    (m.list_cost_usd / m.tokens * 1000000)::decimal(38, 12) as list_usd_per_mtok,
    s.price_source,
    m.list_price_source
from held as h
left join by_model as m on h.deployment = m.deployment
left join sources as s on h.deployment = s.deployment
order by h.deployment, m.cost_usd desc nulls last, m.model
