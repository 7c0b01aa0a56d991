-- grain: one row per (provider, model) that a span with usage named and that the newest edition has not looked up
-- inputs: spans, price_names, price_state
-- law: '' stands for a provider that the span does not name
select distinct
    coalesce(s.provider, '') as provider,
    m.model
from spans as s
cross join lateral (select unnest([s.model_response, s.model_requested]) as model) as m
where m.model is not null and s.role in ('llm', 'embedding', 'gateway', 'server', 'attempt', 'agent', 'wrapper')
    and not exists (
        select 1 from price_names as n
        where
            n.known_ns = (select max(e.made_ns) from price_state as e)
            and n.provider = coalesce(s.provider, '')
            and n.model = m.model
    )
order by 1, 2
