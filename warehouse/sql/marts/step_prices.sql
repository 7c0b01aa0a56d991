-- grain: one row per counted model call or embedding row and reading of its input (two where the source is ambiguous)
-- inputs: step_figures, task_spans, step_deployments, price_state, price_editions_before, price_names, token_prices
-- law: priced by its own service tier, its own start and the whole prompt of the reading, in the edition that priced it first; the newest
--      prices what none did, or what that edition has no price for. A part without a price of its own costs what
--      input costs, and source says so. Steps on own GPUs and cached answers pay for no tokens. No price is null
create or replace temp table step_prices as
with
by_model as (
    select known_ns, model, min(priced_as) as priced_as
    from price_names
    where priced_as is not null
    group by known_ns, model
    having count(distinct priced_as) = 1
),

editions as (
    select f.node, b.known_ns, true as is_first
    from step_figures as f
    inner join task_spans as s on f.node = s.node
    inner join price_editions_before as b on s.step_id = b.step_id
    union all
    select f.node, (select max(e.made_ns) from price_state as e), false
    from step_figures as f
),

readings as (
    select f.node, true as is_declared, f.input_tokens
    from step_figures as f
    union all
    select f.node, false, f.input_tokens_high
    from step_figures as f
    where f.input_tokens_high is not null
),

named as (
    select
        i.node,
        i.is_declared,
        i.input_tokens,
        e.known_ns,
        e.is_first,
        f.start_ns,
        f.start_ns // 1000000000 % 86400 as second_of_day,
        f.cache_read_tokens,
        f.cache_write_tokens,
        f.service_tier,
        -- A pair of provider and model that no span named is looked up by the model alone, if all agree on it.
        coalesce(
            n.priced_as,
            case when n.model is null then b.priced_as end,
            q.priced_as,
            case when q.model is null then p.priced_as end
        ) as priced_as
    from readings as i
    inner join step_figures as f on i.node = f.node
    inner join editions as e on i.node = e.node
    left join price_names as n
        on e.known_ns = n.known_ns and coalesce(f.provider, '') = n.provider and f.model_response = n.model
    left join price_names as q
        on e.known_ns = q.known_ns and coalesce(f.provider, '') = q.provider and f.model_requested = q.model
    left join by_model as b on e.known_ns = b.known_ns and f.model_response = b.model
    left join by_model as p on e.known_ns = p.known_ns and f.model_requested = p.model
),

priced as (
    select
        n.node,
        n.is_declared,
        n.known_ns,
        t.price_id,
        t.input_usd::decimal(24, 18) as input_usd,
        coalesce(t.cache_read_usd, t.input_usd)::decimal(24, 18) as cache_read_usd,
        coalesce(t.cache_write_usd, t.input_usd)::decimal(24, 18) as cache_write_usd,
        coalesce(t.cache_write_1h_usd, t.cache_write_usd, t.input_usd)::decimal(24, 18) as cache_write_1h_usd,
        t.output_usd::decimal(24, 18) as output_usd,
        t.source
        || case
            when n.cache_read_tokens > 0 and t.cache_read_usd is null then '; cache reads at the input price'
            else ''
        end
        || case
            when n.cache_write_tokens > 0 and t.cache_write_usd is null then '; cache writes at the input price'
            else ''
        end as source
    from named as n
    inner join token_prices as t
        on
            n.known_ns = t.known_ns
            and n.priced_as = t.model
            and n.service_tier is not distinct from t.service_tier
            and n.start_ns >= t.from_ns
            and (t.to_ns is null or n.start_ns < t.to_ns)
            and coalesce(n.input_tokens, 0) >= t.prompt_from_tokens
            and (t.prompt_to_tokens is null or coalesce(n.input_tokens, 0) < t.prompt_to_tokens)
            and case
                when t.day_from_s is null or t.day_to_s is null then true
                when t.day_from_s < t.day_to_s then n.second_of_day >= t.day_from_s and n.second_of_day < t.day_to_s
                else n.second_of_day >= t.day_from_s or n.second_of_day < t.day_to_s
            end
    qualify
        row_number() over (
            partition by n.node, n.is_declared
            order by n.is_first desc, t.is_user_row desc, t.from_ns desc, t.prompt_from_tokens desc, t.day_from_s is null, t.price_id
        ) = 1
),

paid as (
    select
        i.node,
        i.is_declared,
        case
            when f.cached_answer then 'nothing'
            when d.has_gpus then 'gpu'
            else 'tokens'
        end as paid_by,
        i.input_tokens,
        coalesce(f.output_tokens, case when f.kind = 'embedding' then 0 end) as output_tokens,
        least(coalesce(f.cache_read_tokens, 0), i.input_tokens) as read_tokens,
        coalesce(f.cache_write_tokens, 0) as told_write_tokens,
        coalesce(f.cache_write_1h_tokens, 0) as told_write_1h_tokens
    from readings as i
    inner join step_figures as f on i.node = f.node
    left join step_deployments as d on i.node = d.node
)

select
    a.node,
    a.is_declared,
    a.paid_by,
    a.input_tokens,
    a.output_tokens,
    a.read_tokens,
    least(a.told_write_tokens, a.input_tokens - a.read_tokens) as write_tokens,
    least(a.told_write_1h_tokens, a.told_write_tokens, a.input_tokens - a.read_tokens) as write_1h_tokens,
    case when a.paid_by = 'tokens' then p.input_usd else 0 end as input_usd,
    case when a.paid_by = 'tokens' then p.cache_read_usd else 0 end as cache_read_usd,
    case when a.paid_by = 'tokens' then p.cache_write_usd else 0 end as cache_write_usd,
    case when a.paid_by = 'tokens' then p.cache_write_1h_usd else 0 end as cache_write_1h_usd,
    case when a.paid_by = 'tokens' then p.output_usd else 0 end as output_usd,
    case when a.paid_by = 'tokens' then p.source end as source,
    case when a.paid_by = 'tokens' then p.known_ns end as known_ns,
    case when a.paid_by = 'tokens' then p.price_id end as price_id
from paid as a
left join priced as p on a.node = p.node and a.is_declared = p.is_declared
