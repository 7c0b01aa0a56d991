-- grain: host x sampler x quarter-hour of its own clock in which it measured its offset
-- inputs: host_offsets_before, samples, dirty_times, setting
-- law: the middle one of what was measured in the quarter-hour, whole ns: the sampler's clock less the collector's
insert into host_offsets by name
with measured as (
    select
        host,
        source,
        t_ns // 900000000000 * 900000000000 as quarter_ns,
        (quantile_disc(value, 0.5) * 1e9)::bigint as offset_ns
    from samples
    where
        metric = 'clock_offset_s'
        and abs(value) < 450
        and t_ns >= (select min(from_ns) // 900000000000 * 900000000000 from dirty_times)
        and t_ns < (select (max(to_ns) // 900000000000 + 1) * 900000000000 from dirty_times)
        and t_ns <= (select now_ns from setting)
    group by all
),

touched as (
    select measured.*
    from measured
    where exists (
        select 1
        from dirty_times
        where dirty_times.from_ns < measured.quarter_ns + 900000000000 and dirty_times.to_ns > measured.quarter_ns
    )
)

select * from touched
union all
-- a quarter-hour whose samples went with their age stays as it was measured
select known.*
from host_offsets_before as known
anti join touched
    on touched.host is not distinct from known.host
    and touched.source is not distinct from known.source
    and touched.quarter_ns = known.quarter_ns
