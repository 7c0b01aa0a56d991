-- grain: dirty quarter-hour x GPU x stretch of held time with one code and one price
-- inputs: ledger_held, ledger_windows, ledger_colds, ledger_islands, ledger_gpus, gpu_rates, setting
-- law: tiles ledger_held. Codes: 6 lost, 5 no sample speaks, 4 stuck, 3 busy with no step near, 7 busy with a step
-- near, 2 loaded, 1 empty, 8 declared and never sampled, 9 a model is loaded. micro_usd is the price of one hour in millionths, null
-- where none is known
create or replace temp table ledger_segments as
with points as (
    select
        pool,
        replica_number,
        to_ns + (select clock_tolerance_ns from setting) as t_ns,
        false as is_island,
        null::bigint as unnamed_to_ns,
        null::bigint as named_to_ns,
        gpu,
        from_ns,
        to_ns
    from ledger_windows
    where code = 3
    union all
    select
        pool,
        replica_number,
        from_ns,
        true,
        case when replica_number = -1 then to_ns end,
        case when replica_number >= 0 then to_ns end,
        null,
        null,
        null
    from ledger_islands
),

-- the islands are disjoint, so the last that starts before a window's end is the one that ends last; not an ASOF
-- join, which the planner turns into a walk over all pairs where it expects few rows
looked as (
    select
        is_island,
        gpu,
        from_ns,
        to_ns,
        max(unnamed_to_ns) over (partition by pool order by t_ns, is_island rows unbounded preceding) as unnamed_to_ns,
        max(named_to_ns) over (
            partition by pool, replica_number order by t_ns, is_island rows unbounded preceding
        ) as named_to_ns
    from points
),

explained as (
    select gpu, from_ns, to_ns, code from ledger_windows where code != 3
    union all
    select
        gpu,
        from_ns,
        to_ns,
        case
            when
                greatest(unnamed_to_ns, named_to_ns) -- of a null and a number, the number
                > from_ns - (select clock_tolerance_ns from setting)
                then 7
            else 3
        end
    from looked
    where not is_island
),

-- while a model is loaded its card cannot serve, whatever it does
warmed as (
    select
        explained.gpu,
        unnest(
            [
                {'from_ns': explained.from_ns, 'to_ns': least(explained.to_ns, coalesce(colds.to_ns, 0)), 'code': 9},
                {
                    'from_ns': greatest(explained.from_ns, coalesce(colds.to_ns, 0)),
                    'to_ns': explained.to_ns,
                    'code': explained.code
                }
            ]
        ) as part
    from explained
    left join ledger_colds as colds
        on colds.gpu = explained.gpu
        and colds.from_ns < explained.to_ns
        and colds.to_ns > explained.from_ns
        and explained.code != 6
),

-- windows that meet and say the same become one
marked as (
    select
        *,
        coalesce(
            code = lag(code) over (partition by gpu order by to_ns)
            and from_ns = lag(to_ns) over (partition by gpu order by to_ns),
            false
        ) as joins
    from (
        select gpu, part.from_ns as from_ns, part.to_ns as to_ns, part.code as code
        from warmed
        where part.from_ns < part.to_ns
    )
),

numbered as (
    select *, sum((not joins)::integer) over (partition by gpu order by to_ns rows unbounded preceding) as stretch
    from marked
),

stretches as (
    select gpu, stretch, any_value(code) as code, min(from_ns) as from_ns, max(to_ns) as to_ns
    from numbered
    group by gpu, stretch
),

by_quarter as (
    select
        gpu,
        code,
        from_ns,
        to_ns,
        unnest(range(from_ns // 900000000000, (to_ns - 1) // 900000000000 + 1)) * 900000000000 as quarter_ns
    from stretches
),

rates as (
    select
        held.quarter_ns,
        held.gpu,
        greatest(held.from_ns, gpu_rates.from_ns) as from_ns,
        least(held.to_ns, gpu_rates.to_ns) as to_ns,
        (gpu_rates.usd_per_hour * 1000000)::bigint as micro_usd
    from ledger_held as held
    inner join ledger_gpus on ledger_gpus.gpu = held.gpu
    inner join gpu_rates
        on gpu_rates.gpu_id = ledger_gpus.gpu_id and gpu_rates.from_ns < held.to_ns and gpu_rates.to_ns > held.from_ns
),

edges as (
    select quarter_ns, gpu, from_ns as t_ns, 1 as held, 0 as code, 0::bigint as micro_usd, 0 as priced from ledger_held
    union all
    select quarter_ns, gpu, to_ns, -1, 0, 0, 0 from ledger_held
    union all
    select quarter_ns, gpu, greatest(from_ns, quarter_ns), 0, code, 0, 0 from by_quarter
    union all
    select quarter_ns, gpu, least(to_ns, quarter_ns + 900000000000), 0, -code, 0, 0 from by_quarter
    union all
    select quarter_ns, gpu, from_ns, 0, 0, micro_usd, 1 from rates
    union all
    select quarter_ns, gpu, to_ns, 0, 0, -micro_usd, -1 from rates
),

moments as (
    select
        quarter_ns,
        gpu,
        t_ns,
        sum(held) as held,
        sum(code) as code,
        sum(micro_usd) as micro_usd,
        sum(priced) as priced
    from edges
    semi join dirty_quarters using (quarter_ns)
    group by quarter_ns, gpu, t_ns
),

running as (
    select
        quarter_ns,
        gpu,
        t_ns as from_ns,
        lead(t_ns) over moment as to_ns,
        sum(held) over moment as held,
        sum(code) over moment as code,
        sum(micro_usd) over moment as micro_usd,
        sum(priced) over moment as priced
    from moments
    window moment as (partition by quarter_ns, gpu order by t_ns)
)

select
    running.quarter_ns,
    ledger_gpus.pool,
    running.gpu,
    running.from_ns,
    running.to_ns,
    case
        when running.code != 0 then running.code
        when ledger_gpus.is_declared then 8
        else 5
    end::integer as code,
    case when running.priced > 0 then running.micro_usd::bigint end as micro_usd
from running
inner join ledger_gpus on ledger_gpus.gpu = running.gpu
where running.held > 0 and running.to_ns > running.from_ns
