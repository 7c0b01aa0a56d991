-- grain: deployment x engine x instance x model x signal
-- inputs: points, engine_signals, deployment_names, parameters now_ns, window_s, stale_s
-- law: a signal that an engine knows and does not tell is missing, never 0. A counter is its growth a second within the
-- window, a distribution the mean of what came within it; growth is summed over resets, and without any there is no
-- mean. As of the newest point, unless now_ns is given
-- params: now_ns=null, window_s=300.0, stale_s=60.0
with newest as (
    select coalesce($now_ns, max(t_ns)) as now_ns from points
),

asked as (
    select now_ns, now_ns - ($window_s * 1e9)::bigint as from_ns, now_ns - ($stale_s * 1e9)::bigint as fresh_ns
    from newest
),

-- an engine that told something in a while but not of late is still one that should tell
told as (
    select
        points.* exclude (kind, unit),
        signals.* exclude (metric),
        points.attributes ->> '$."service.instance.id"' as instance_told,
        coalesce(
            points.attributes ->> '$.model_name',
            points.attributes ->> '$.model',
            points.attributes ->> '$.deployment'
        ) as model,
        points.attributes ->> '$."taximeter.deployment"' as deployment_told
    from points
    cross join asked
    inner join engine_signals as signals
        on regexp_replace(points.metric, '_total$', '') = regexp_replace(signals.metric, '_total$', '')
    where
        points.t_ns > asked.now_ns - 86400000000000
        and points.t_ns <= asked.now_ns
        and (
            signals.label is null
            or (points.attributes ->> ('$."' || signals.label || '"')) = signals.label_value
        )
),

stepped as (
    select
        told.*,
        coalesce(instance_told, host, service_name) as instance,
        value - lag(value) over by_stream as value_change,
        "count" - lag("count") over by_stream as count_change,
        lag(t_ns) over by_stream as before_ns
    from told
    window by_stream as (partition by stream_hash, signal order by t_ns)
),

streams as (
    select
        engine, instance, model, signal, place, kind, over, unit, factor, stream_hash,
        max(deployment_told) as deployment_told,
        max(simulated) as simulated,
        max(t_ns) as last_ns,
        arg_max(value, t_ns) as last_value,
        -- after a reset the counter starts at 0: what it then shows is what it grew by
        sum(if(value_change < 0, value, value_change)) filter (where in_window) as grown,
        sum(if(count_change < 0, "count", count_change)) filter (where in_window) as counted,
        sum(t_ns - before_ns) filter (where in_window) as grown_ns
    from (
        select stepped.*, before_ns >= asked.from_ns as in_window
        from stepped cross join asked
    )
    group by all
),

-- of several names for one signal one is read, or both would count
named as (
    select *
    from streams
    qualify place = min(place) over (partition by engine, instance, model, signal)
),

figures as (
    select
        engine, instance, model, signal, kind, unit,
        max(deployment_told) as deployment_told,
        max(simulated) as simulated,
        max(last_ns) as last_ns,
        case kind
            when 'gauge' then
                if(
                    min(over) = 'max',
                    max(last_value) filter (where is_fresh),
                    sum(last_value) filter (where is_fresh)
                ) * any_value(factor)
            when 'distribution' then sum(grown) / nullif(sum(counted), 0) * any_value(factor)
            else sum(grown / nullif(grown_ns / 1e9, 0)) * any_value(factor)
        end as value
    from (
        -- a rank that fell silent long before the others is no part of the sum
        select *, last_ns > max(last_ns) over (partition by engine, instance, model, signal) - 60000000000 as is_fresh
        from named
    )
    group by engine, instance, model, signal, kind, unit
),

engines as (
    select
        engine, instance, model,
        max(deployment_told) as deployment_told,
        max(simulated) as simulated,
        max(last_ns) as last_ns
    from figures
    group by engine, instance, model
),

known as (
    select engine, signal, any_value(kind) as kind, any_value(unit) as unit
    from engine_signals
    group by engine, signal
)

select
    coalesce(engines.deployment_told, addressed.deployment) as deployment,
    engines.engine,
    engines.instance,
    engines.model,
    known.signal,
    case when figures.last_ns > asked.fresh_ns then figures.value end as value,
    known.unit,
    case
        when figures.last_ns is null then 'missing'
        when figures.last_ns <= asked.fresh_ns then 'stale'
        when figures.value is null then 'nothing_yet'
        else 'fresh'
    end as told,
    ((asked.now_ns - figures.last_ns) / 1e9)::double as age_s,
    make_timestamp(figures.last_ns // 1000) as told_at,
    engines.simulated
from engines
cross join asked
inner join known on known.engine = engines.engine
left join figures
    on figures.engine = engines.engine
    and figures.instance is not distinct from engines.instance
    and figures.model is not distinct from engines.model
    and figures.signal = known.signal
left join (
    select pattern, min(deployment) as deployment from deployment_names where kind = 'address' group by pattern
) as addressed on addressed.pattern = engines.instance
order by deployment nulls last, engines.engine, engines.instance, engines.model nulls last, known.signal
