-- grain: provider x model x service tier that no price is known for
-- inputs: steps
-- law: none of its tokens is in any cost; the day its price is entered it leaves this list
select
    provider,
    model,
    service_tier,
    count(*) as steps,
    count(distinct task_id) as tasks,
    sum(input_tokens)::bigint as input_tokens,
    sum(output_tokens)::bigint as output_tokens,
    sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0))::bigint as tokens,
    sum(reported_cost_usd)::decimal(38, 12) as reported_cost_usd,
    make_timestamp_ns(min(start_ns))::timestamp as first_at,
    make_timestamp_ns(max(start_ns))::timestamp as last_at
from steps
where
    counted
    and paid_by = 'tokens'
    and token_cost_usd is null
    and input_tokens is not null
    and start_ns >= $since_ns
    and start_ns < $until_ns
group by provider, model, service_tier
order by tokens desc, model, provider, service_tier
