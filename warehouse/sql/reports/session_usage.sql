-- grain: session x model of a service whose usage only metrics tell
-- inputs: points, spans
-- law: metrics never make a task, and count only where neither spans nor logs tell of the session; where a metric
--      names no session, where none of its service and host tell usage within an hour. Delta points add up, each
--      once; cumulative ones count by difference, a reset from zero. Input holds the cache, output the reasoning;
--      what no point told is null
with
meanings (metric, kind, input, cache_read, cache_write, output, reasoning, cost) as (
    values
    ('claude_code.token.usage', 'input', true, false, false, false, false, false),
    ('claude_code.token.usage', 'cacheRead', true, true, false, false, false, false),
    ('claude_code.token.usage', 'cacheCreation', true, false, true, false, false, false),
    ('claude_code.token.usage', 'output', false, false, false, true, false, false),
    ('claude_code.cost.usage', '', false, false, false, false, false, true),
    ('codex.turn.token_usage', 'input', true, false, false, false, false, false),
    ('codex.turn.token_usage', 'cached_input', false, true, false, false, false, false),
    ('codex.turn.token_usage', 'output', false, false, false, true, false, false),
    ('codex.turn.token_usage', 'reasoning_output', false, false, false, false, true, false),
    ('gemini_cli.token.usage', 'input', true, false, false, false, false, false),
    ('gemini_cli.token.usage', 'tool', true, false, false, false, false, false),
    ('gemini_cli.token.usage', 'cache', false, true, false, false, false, false),
    ('gemini_cli.token.usage', 'output', false, false, false, true, false, false),
    ('gemini_cli.token.usage', 'thought', false, false, false, true, true, false)
),

told as (
    select distinct
        p.stream_hash,
        p.temporality,
        p.start_ns,
        p.t_ns,
        p.value,
        p.tenant,
        p.host,
        p.service_name,
        coalesce(
            p.attributes ->> '$."session.id"',
            p.attributes ->> '$."conversation.id"',
            p.attributes ->> '$."thread.id"'
        ) as session,
        p.attributes ->> '$.model' as model,
        p.metric,
        coalesce(p.attributes ->> '$.type', p.attributes ->> '$.token_type', '') as kind,
        coalesce(p.simulated, false) as simulated
    from points as p
    where
        p.metric in (select m.metric from meanings as m)
        and p.temporality is not null
        and p.value >= 0
),

-- A counter of another start is another run of the program.
earlier as (
    select *, lag(value) over (partition by stream_hash, start_ns order by t_ns, value) as value_before
    from told
    where temporality = 'cumulative'
),

added as (
    select * exclude (value, value_before), value - case when value >= value_before then value_before else 0 end as value
    from earlier
    union all by name
    select * from told
    where temporality = 'delta'
),

usage as (
    select
        tenant,
        host,
        service_name,
        trace_id,
        session_id,
        end_ns
    from spans
    where input_tokens is not null or output_tokens is not null
),

sessions as (
    select tenant, session_id as session from usage
    where session_id is not null
    union
    select s.tenant, s.session_id
    from spans as s
    where s.session_id is not null and s.trace_id in (select u.trace_id from usage as u)
),

alone as (
    select a.*
    from added as a
    where
        a.t_ns >= $since_ns
        and a.t_ns < $until_ns
        and case
            when a.session is not null
                then not exists (
                    select 1 from sessions as s
                    where s.session = a.session and s.tenant is not distinct from a.tenant
                )
            else not exists (
                select 1 from usage as u
                where
                    u.service_name is not distinct from a.service_name
                    and u.tenant is not distinct from a.tenant
                    and u.host is not distinct from a.host
                    and u.end_ns between coalesce(a.start_ns, a.t_ns) - 3600000000000 and a.t_ns + 3600000000000
            )
        end
),

summed as (
    select
        a.tenant,
        a.service_name,
        a.session,
        a.model,
        make_timestamp(min(a.t_ns) // 1000) as first_at,
        make_timestamp(max(a.t_ns) // 1000) as last_at,
        (sum(a.value) filter (where m.input))::bigint as input_tokens,
        (sum(a.value) filter (where m.cache_read))::bigint as cache_read_tokens,
        (sum(a.value) filter (where m.cache_write))::bigint as cache_write_tokens,
        (sum(a.value) filter (where m.output))::bigint as output_tokens,
        (sum(a.value) filter (where m.reasoning))::bigint as reasoning_tokens,
        (sum(a.value) filter (where m.cost))::decimal(38, 12) as reported_cost_usd,
        bool_or(a.simulated) as simulated
    from alone as a
    inner join meanings as m on a.metric = m.metric and case when m.cost then '' else a.kind end = m.kind
    group by a.tenant, a.service_name, a.session, a.model
)

select
    session,
    model,
    'metric' as signal,
    service_name,
    tenant,
    first_at,
    last_at,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    case
        when input_tokens is not null or output_tokens is not null
            then coalesce(input_tokens, 0) + coalesce(output_tokens, 0)
    end as total_tokens,
    reported_cost_usd,
    'reported' as provenance,
    simulated
from summed
order by first_at, session, model, service_name, tenant
