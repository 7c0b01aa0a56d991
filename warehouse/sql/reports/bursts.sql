-- grain: deployment x measure (arrivals, tokens, in_flight, busy_gpus, request_rate) x window
-- inputs: steps, gpu_timeline, points
-- law: windows are [since + k w, since + (k+1) w), since the first event unless given; empty windows and the last, cut one
--      count; mean = total / windows. Arrivals and tokens count at the start, in_flight and busy_gpus are the integral
--      over the window / w, a rate series is the sum of rates over its sources. Calls of unknown tokens are in
--      unknown_events and in no figure of tokens; calls without a length are in no in_flight
-- params: deployment, window_s=0
with
lengths as (
    select unnest(if($window_s > 0, [$window_s], [1, 10, 60, 600]))::bigint as window_s
),

calls as (
    select
        s.deployment,
        s.start_ns,
        s.input_tokens + case when s.kind = 'embedding' then coalesce(s.output_tokens, 0) else s.output_tokens end as tokens,
        case when not coalesce(s.is_untimed, false) then s.busy_start_ns end as busy_start_ns,
        s.busy_end_ns
    from steps as s
    where
        s.counted
        and s.kind in ('llm', 'embedding')
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
),

-- What happened, as amounts over stretches; an event at an instant lasts 1 ns and its amount is not divided by time.
-- Amounts are summed as whole billionths (of stretches as nanoseconds), so that no order of rows can show.
happened as (
    select deployment, 'arrivals' as measure, start_ns as from_ns, start_ns + 1 as to_ns, 1.0 as amount, null as step_s
    from calls
    union all
    select deployment, 'tokens', start_ns, start_ns + 1, tokens, null from calls
    union all
    select deployment, 'in_flight', busy_start_ns, busy_end_ns, 1, 0 from calls
    where busy_end_ns > busy_start_ns
    union all
    select deployment, 'busy_gpus', greatest(from_ns, $since_ns), least(to_ns, $until_ns), 1, 0
    from gpu_timeline
    where state in ('serving', 'unattributed') and to_ns > $since_ns and from_ns < $until_ns
    union all
    select
        json_extract_string(attributes, '$.deployment'),
        'request_rate',
        t_ns,
        t_ns + 1,
        value,
        json_extract(attributes, '$.window_s')::bigint
    from points
    where metric = 'taximeter.request_rate' and t_ns >= $since_ns and t_ns < $until_ns
),

asked as (
    select * from happened
    where $deployment is null or deployment = $deployment
),

reaches as (
    select
        deployment,
        measure,
        if($since_ns > 0, $since_ns, min(from_ns)) as since_ns,
        if($until_ns < 9223372036854775807, $until_ns, max(to_ns)) as until_ns,
        count(*) filter (where amount is null) as unknown_events
    from asked
    group by deployment, measure
),

windowed as (
    select
        r.deployment,
        r.measure,
        l.window_s,
        r.since_ns,
        (r.until_ns - 1 - r.since_ns) // (l.window_s * 1000000000) + 1 as windows,
        r.unknown_events
    from reaches as r
    cross join lengths as l
),

-- The stretches, cut at the windows' edges.
cut as (
    select
        w.deployment,
        w.measure,
        w.window_s,
        w.since_ns,
        a.from_ns,
        a.to_ns,
        a.amount,
        a.step_s,
        unnest(
            generate_series(
                (a.from_ns - w.since_ns) // (w.window_s * 1000000000),
                (a.to_ns - 1 - w.since_ns) // (w.window_s * 1000000000)
            )
        ) as place
    from asked as a
    inner join windowed as w on a.deployment is not distinct from w.deployment and a.measure = w.measure
    where
        a.amount is not null
        and (coalesce(a.step_s, 0) = 0 or w.window_s % a.step_s = 0)
),

filled as (
    select
        deployment,
        measure,
        window_s,
        place,
        sum(
            case
                when step_s is null then (amount * 1e9)::hugeint
                when step_s > 0 then (amount * step_s * 1e9)::hugeint
                else
                    least(to_ns, since_ns + (place + 1) * window_s * 1000000000)
                    - greatest(from_ns, since_ns + place * window_s * 1000000000)
            end
        ) as units,
        any_value(step_s is not null) as is_over_time
    from cut
    group by deployment, measure, window_s, place
),

summed as (
    select
        deployment,
        measure,
        window_s,
        count(*) filter (where units > 0) as full_windows,
        sum(units)::double / if(any_value(is_over_time), window_s * 1e9, 1e9) as total,
        max(units)::double / if(any_value(is_over_time), window_s * 1e9, 1e9) as peak
    from filled
    group by deployment, measure, window_s
)

select
    w.deployment,
    w.measure,
    w.window_s,
    w.windows,
    w.windows - s.full_windows as empty_windows,
    s.total / w.windows as mean,
    s.peak,
    s.peak / nullif(s.total / w.windows, 0) as peak_to_mean_ratio,
    1 - s.total / w.windows / nullif(s.peak, 0) as asleep_at_peak_ratio,
    w.unknown_events
from windowed as w
inner join summed as s
    on w.deployment is not distinct from s.deployment and w.measure = s.measure and w.window_s = s.window_s
order by w.deployment nulls last, w.measure, w.window_s
