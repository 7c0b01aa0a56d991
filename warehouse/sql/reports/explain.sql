-- grain: span of the asked task (of several versions the one that counts), whatever came of it
-- inputs: spans, trace_tasks, steps, step_gpu, token_prices, refused
-- law: told_ columns are what the span says of itself, as sources tells (flags: cache_added, reasoning_added); the
--      others are the counted step's, filled from all its views. parts sum to token_cost_usd. verdict is a word for
--      the reason why it was or was not counted. skew_s is how long before the span above it it says that it started
-- params: trace_id, task_id, limit=100000
with
chosen_traces as (
    select trace_id, task_id
    from trace_tasks
    where
        ($trace_id is null and $task_id is null)
        or task_id = $task_id
        or task_id in (select i.task_id from trace_tasks as i where i.trace_id = $trace_id)
),

versions as (
    select
        t.task_id,
        s.*,
        s.input_tokens is not null or s.output_tokens is not null as has_usage,
        count(*) over same as versions
    from spans as s
    inner join chosen_traces as t on s.trace_id = t.trace_id
    where s.span_id is not null and s.start_ns >= $since_ns and s.start_ns < $until_ns
    window same as (partition by s.trace_id, s.span_id, s.start_ns)
    qualify
        row_number() over (
            partition by s.trace_id, s.span_id, s.start_ns
            order by s.end_ns desc nulls last, s.filled desc nulls last, s.decoder_version desc, s.row_hash desc
        ) = 1
),

-- The earliest start of a span id: a child that started before it was timed by another clock.
above as (
    select trace_id, span_id, min(start_ns) as start_ns
    from versions
    group by trace_id, span_id
),

refusals as (
    select
        trace_id,
        span_id,
        list(distinct said order by said) as refused
    from (
        select
            trace_id, span_id, coalesce(field || ' ', '') || coalesce(value || ' ', '') || '(' || reason || ')' as said
        from refused
    )
    where trace_id in (select c.trace_id from chosen_traces as c)
    group by trace_id, span_id
),

gpu as (
    select
        task_id,
        step_id,
        case when count(*) = count(cost_usd) then sum(cost_usd) end::decimal(38, 12) as gpu_cost_usd,
        sum(gpu_ns) / 1e9 as gpu_s
    from step_gpu
    where task_id in (select c.task_id from chosen_traces as c)
    group by task_id, step_id
),

prices as (
    select *
    from token_prices
    qualify row_number() over (partition by price_id order by model) = 1
),

-- The parts of the prompt as they are priced: what is told beyond the prompt itself is cut.
parted as (
    select
        *,
        least(coalesce(cache_read_tokens, 0), input_tokens) as read_tokens,
        least(coalesce(cache_write_tokens, 0), input_tokens - least(coalesce(cache_read_tokens, 0), input_tokens))
            as write_tokens
    from steps
    where task_id in (select c.task_id from chosen_traces as c)
)

select
    v.task_id,
    v.trace_id,
    v.span_id,
    v.parent_span_id,
    v.trace_id || '/' || v.span_id || '/' || v.start_ns as step_id,
    make_timestamp_ns(v.start_ns)::timestamp as started_at,
    case
        when not coalesce(list_contains(v.flags, 'untimed'), false) then greatest(v.end_ns - v.start_ns, 0) / 1e9
    end as duration_s,
    case when a.start_ns > v.start_ns then (a.start_ns - v.start_ns) / 1e9 end as skew_s,
    v.name,
    v.dialect,
    v.role,
    v.operation,
    v.scope_name,
    v.scope_version,
    coalesce(v.status, 'unset') as status,
    v.versions,
    v.flags,
    r.refused,
    coalesce(p.counted, false) as counted,
    case
        when p.counted and p.why = 'rollup' then 'counted_rollup'
        when p.counted and p.kind in ('tool', 'retrieval') then 'counted_' || p.kind
        when p.counted and p.bucket = 'retried' and p.input_tokens is null and p.output_tokens is null then 'counted_silent_try'
        when p.counted and p.bucket = 'retried' then 'counted_try'
        when p.counted and p.bucket = 'loop' then 'counted_loop'
        when p.counted and p.paid_by = 'nothing' then 'counted_cached'
        when p.counted and p.input_tokens is null and p.output_tokens is null then 'counted_unknown'
        when p.counted then 'counted'
        when p.why = 'sums up the calls below it' then 'sums_up_calls'
        when p.why = 'another view of a call that counts' then 'view_of_call'
        when p.why = 'another view of a tool call that counts' then 'view_of_tool'
        when p.why = 'a try without tokens of its own' then 'try_without_tokens'
        when v.signal = 'log' then 'told_by_span'
        when v.role in ('agent', 'wrapper') and v.has_usage then 'repeats_parts'
        else v.role
    end as verdict,
    p.why,
    p.kind,
    p.call_id,
    p.attempt,
    p.attempts,
    p.bucket,
    v.rollup,
    v.sources,
    v.inclusivity,
    v.input_tokens as told_input_tokens,
    v.input_tokens_high as told_input_high_tokens,
    v.cache_read_tokens as told_cache_read_tokens,
    v.cache_write_tokens as told_cache_write_tokens,
    v.cache_write_1h_tokens as told_cache_write_1h_tokens,
    v.output_tokens as told_output_tokens,
    v.reasoning_tokens as told_reasoning_tokens,
    v.total_tokens as told_total_tokens,
    v.reported_cost_usd as told_cost_usd,
    p.input_tokens,
    p.input_tokens_high,
    p.cache_read_tokens,
    p.cache_write_tokens,
    p.output_tokens,
    p.reasoning_tokens,
    p.token_provenance,
    p.provider,
    coalesce(p.model, v.model_response, v.model_requested) as model,
    p.deployment,
    p.paid_by,
    p.price_id,
    t.model as priced_as,
    p.service_tier,
    make_timestamp(t.from_ns // 1000) as price_from_at,
    t.prompt_from_tokens as tier_from_tokens,
    t.prompt_to_tokens as tier_to_tokens,
    p.price_source,
    case
        when t.price_id is not null
            then [
                struct_pack(
                    part := 'input', tokens := p.input_tokens - p.read_tokens - p.write_tokens, usd_per_token := t.input_usd
                ),
                struct_pack(
                    part := 'cache_read',
                    tokens := p.read_tokens,
                    usd_per_token := coalesce(t.cache_read_usd, t.input_usd)
                ),
                struct_pack(
                    part := 'cache_write',
                    tokens := p.write_tokens - least(coalesce(p.cache_write_1h_tokens, 0), p.write_tokens),
                    usd_per_token := coalesce(t.cache_write_usd, t.input_usd)
                ),
                struct_pack(
                    part := 'cache_write_1h',
                    tokens := least(coalesce(p.cache_write_1h_tokens, 0), p.write_tokens),
                    usd_per_token := coalesce(t.cache_write_1h_usd, t.cache_write_usd, t.input_usd)
                ),
                struct_pack(
                    part := 'output',
                    tokens := coalesce(p.output_tokens, case when p.kind = 'embedding' then 0 end),
                    usd_per_token := t.output_usd
                )
            ]
    end as parts,
    p.token_cost_usd,
    p.token_cost_low_usd,
    p.token_cost_high_usd,
    p.reported_cost_usd,
    g.gpu_s,
    g.gpu_cost_usd,
    coalesce(v.simulated, false) as simulated
from versions as v
left join parted as p
    on v.task_id = p.task_id and p.step_id = v.trace_id || '/' || v.span_id || '/' || v.start_ns
left join refusals as r on v.trace_id = r.trace_id and v.span_id = r.span_id
left join gpu as g on v.task_id = g.task_id and p.step_id = g.step_id
left join prices as t on p.price_id = t.price_id
left join above as a on v.trace_id = a.trace_id and v.parent_span_id = a.span_id
order by min(v.start_ns) over (partition by v.task_id), v.task_id, v.start_ns, v.end_ns desc, v.trace_id, v.span_id
limit $limit
