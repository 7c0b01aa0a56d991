-- grain: check
-- inputs: intake, refreshes, spans, samples, points, refused, steps, gpu_ledger, unplaced_steps, law_results, parameter now_ns
-- law: a check that has nothing to judge by is unknown, never ok
with asked as (select $since_ns as since_ns, $until_ns as until_ns, $now_ns as now_ns),

intake_checks as (
    select
        'ingest_lag' as check_name,
        if(
            intake.looked_ns is not null,
            (asked.now_ns - coalesce(intake.oldest_waiting_ns, asked.now_ns)) / 1e9,
            null
        ) as value,
        's' as unit,
        'age of the oldest block that waits' as detail,
        10 as warn_above,
        60 as fail_above
    from asked left join intake on true
    union all
    select 'blocks_waiting', intake.blocks_waiting, 'blocks', 'blocks in the inbox at the last refresh', 100, 10000
    from asked left join intake on true
    union all
    select 'blocks_quarantined', intake.blocks_quarantined, 'blocks', 'blocks that could not be read', 0, null
    from asked left join intake on true
    union all
    select
        'refresh_age',
        (asked.now_ns - refreshes.now_ns) / 1e9,
        's',
        'time since figures were last brought up to date',
        90,
        600
    from asked left join refreshes on true
    union all
    select 'refresh_took', refreshes.took_ns / 1e9, 's', 'what the last refresh took', 10, 60
    from asked left join refreshes on true
),

arrivals as (
    select 'last_span' as check_name, max(end_ns) as at_ns from spans
    union all
    select 'last_sample', max(t_ns) from samples
),

arrival_checks as (
    select
        arrivals.check_name,
        (asked.now_ns - arrivals.at_ns) / 1e9 as value,
        's' as unit,
        coalesce('at ' || strftime(make_timestamp(arrivals.at_ns // 1000), '%Y-%m-%dT%H:%M:%SZ'), 'none yet') as detail,
        null as warn_above,
        null as fail_above
    from arrivals cross join asked
),

dialect_checks as (
    select
        'spans:' || coalesce(dialect, 'unknown') as check_name,
        count(*) as value,
        'spans' as unit,
        if(
            coalesce(dialect, 'unknown') = 'unknown',
            'spans that no dialect knows: kept, never counted',
            'spans read by this dialect'
        ) as detail,
        null as warn_above,
        null as fail_above
    from spans
    group by dialect
),

refused_check as (
    select
        'refused_rows' as check_name,
        count(*) as value,
        'rows' as unit,
        coalesce(string_agg(distinct reason, ', ' order by reason), 'nothing was refused') as detail,
        0 as warn_above,
        null as fail_above
    from refused cross join asked
    where refused.received_ns is null
        or (refused.received_ns >= asked.since_ns and refused.received_ns < asked.until_ns)
),

steps_in_range as (
    select steps.*
    from steps cross join asked
    where steps.counted and steps.kind in ('llm', 'embedding')
        and steps.start_ns >= asked.since_ns and steps.start_ns < asked.until_ns
),

step_checks as (
    select
        'unpriced_ratio' as check_name,
        avg((token_cost_usd is null)::integer) as value,
        'ratio' as unit,
        'share of calls with known usage, paid by tokens, that no price is known for; see unpriced' as detail,
        0 as warn_above,
        null as fail_above
    from steps_in_range
    where paid_by = 'tokens' and input_tokens is not null and output_tokens is not null
    union all
    select
        'usage_unknown_ratio',
        avg((input_tokens is null or output_tokens is null)::integer),
        'ratio',
        'share of calls whose tokens nobody told',
        0,
        null
    from steps_in_range
),

gpu_check as (
    select
        'gpu_unknown_ratio' as check_name,
        sum(gpu_ns) filter (where state = 'unknown') / sum(gpu_ns) as value,
        'ratio' as unit,
        'share of held GPU time that no sample speaks for' as detail,
        0.1 as warn_above,
        null as fail_above
    from gpu_ledger cross join asked
    where gpu_ledger.quarter_ns >= asked.since_ns and gpu_ledger.quarter_ns < asked.until_ns
),

scrape_check as (
    select
        'scrape_down' as check_name,
        count(*) filter (where up = 0) as value,
        'targets' as unit,
        coalesce(
            string_agg(instance || ': ' || reason, ', ' order by instance) filter (where up = 0),
            'every target tells its metrics'
        ) as detail,
        0 as warn_above,
        null as fail_above
    from (
        select
            attributes ->> '$."service.instance.id"' as instance,
            arg_max(attributes ->> '$.reason', t_ns) as reason,
            arg_max(value, t_ns) as up
        from points cross join asked
        where metric = 'taximeter.scrape.up' and t_ns > asked.now_ns - 3600000000000
        group by instance
    )
    having count(*) > 0
),

unplaced_check as (
    select
        'unplaced_s' as check_name,
        if(count(quarters.quarter_ns) = 0, null, coalesce(sum(quarters.step_ns), 0) / 1e9) as value,
        's' as unit,
        'step seconds in flight while none of their GPUs could have served them; see unplaced' as detail,
        0 as warn_above,
        null as fail_above
    from (
        select quarter_ns, step_ns from unplaced_steps
        union all
        select distinct quarter_ns, 0 from gpu_ledger
    ) as quarters cross join asked
    where quarters.quarter_ns >= asked.since_ns and quarters.quarter_ns < asked.until_ns
),

law_checks as (
    select
        'law:' || law as check_name,
        violations as value,
        'rows' as unit,
        'rows that break it, checked at '
        || strftime(make_timestamp(checked_ns // 1000), '%Y-%m-%dT%H:%M:%SZ') as detail,
        null as warn_above,
        0 as fail_above
    from law_results
),

simulated_check as (
    select
        'simulated_rows' as check_name,
        (select count(*) from spans where simulated) + (select count(*) from samples where simulated) as value,
        'rows' as unit,
        'spans and samples that a simulation made' as detail,
        0 as warn_above,
        null as fail_above
),

checks as (
    select 1 as place, * from intake_checks
    union all
    select 2, * from arrival_checks
    union all
    select 3, * from dialect_checks
    union all
    select 4, * from refused_check
    union all
    select 5, * from step_checks
    union all
    select 6, * from gpu_check
    union all
    select 6, * from unplaced_check
    union all
    select 6, * from scrape_check
    union all
    select 7, * from law_checks
    union all
    select 8, * from simulated_check
)

select
    check_name as "check",
    case
        when value is null then 'unknown'
        when value > fail_above then 'fail'
        when value > warn_above then 'warn'
        else 'ok'
    end as status,
    value::double as value,
    unit,
    detail
from checks
order by place, check_name
