-- grain: one row per counted model call or embedding row and bucket with tokens
-- inputs: step_segments, step_prices, step_costs, step_figures, task_spans
-- law: tokens sum to the step's input and output. Cache reads fill a prompt from its start, cache writes (those for
--      an hour first) take the next tokens, the rest is uncached. Money is exact at 1e-18, floored at 1e-12 USD,
--      and the rest goes to the step's largest bucket, so that buckets sum to the step's cost
insert into step_buckets by name
with
laid as (
    select
        g.node,
        g.task_id,
        g.bucket,
        g.is_output,
        g.tokens,
        case when g.is_output then 0 else greatest(least(g.to_tokens, p.read_tokens) - g.from_tokens, 0) end as reads,
        case
            when g.is_output then 0
            else
                greatest(
                    least(g.to_tokens, p.read_tokens + p.write_1h_tokens) - greatest(g.from_tokens, p.read_tokens), 0
                )
        end as writes_1h,
        case
            when g.is_output then 0
            else
                greatest(
                    least(g.to_tokens, p.read_tokens + p.write_tokens)
                    - greatest(g.from_tokens, p.read_tokens + p.write_1h_tokens),
                    0
                )
        end as writes,
        p.* exclude (node)
    from step_segments as g
    inner join step_prices as p on g.node = p.node and p.is_declared
),

paid as (
    select
        l.node,
        l.task_id,
        l.bucket,
        sum(l.tokens)::bigint as tokens,
        case when bool_or(f.cache_read_tokens is not null) then sum(l.reads)::bigint end as cached_tokens,
        sum(
            case
                when l.paid_by <> 'tokens' then 0
                when l.is_output then l.tokens::decimal(13, 0) * l.output_usd
                else
                    (l.tokens - l.reads - l.writes - l.writes_1h)::decimal(13, 0) * l.input_usd
                    + l.reads::decimal(13, 0) * l.cache_read_usd
                    + l.writes::decimal(13, 0) * l.cache_write_usd
                    + l.writes_1h::decimal(13, 0) * l.cache_write_1h_usd
            end
        )::decimal(38, 18) as exact_usd
    from laid as l
    inner join step_figures as f on l.node = f.node
    group by l.node, l.task_id, l.bucket
),

floored as (
    select
        p.*,
        c.cost_usd,
        case
            when p.exact_usd::decimal(38, 12)::decimal(38, 18) > p.exact_usd
                then (p.exact_usd::decimal(38, 12) - 0.000000000001)::decimal(38, 12)
            else p.exact_usd::decimal(38, 12)
        end as floor_usd,
        row_number() over (partition by p.node order by p.exact_usd desc, p.bucket) as place
    from paid as p
    inner join step_costs as c on p.node = c.node
)

select
    f.task_id,
    s.step_id,
    f.bucket,
    f.tokens,
    f.cached_tokens,
    case
        when f.cost_usd is not null
            then f.floor_usd
                + case when f.place = 1 then f.cost_usd - sum(f.floor_usd) over (partition by f.node) else 0 end
    end as token_cost_usd
from floored as f
inner join task_spans as s on f.node = s.node
