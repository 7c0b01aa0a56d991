-- grain: host x sampler x quarter-hour of its own clock in which it measured its offset
-- inputs: host_offsets_before, samples, dirty_times, setting
-- law: the middle one of what was measured in the quarter-hour, whole ns: the sampler's clock less the collector's
insert into host_offsets by name
with touched as (
    select distinct unnest(range(from_ns // 900000000000, (to_ns - 1) // 900000000000 + 1)) * 900000000000 as quarter_ns
    from dirty_times
    where from_ns < to_ns
),

measured as (
    select
        host,
        source,
        t_ns // 900000000000 * 900000000000 as quarter_ns,
        (quantile_disc(value, 0.5) * 1e9)::bigint as offset_ns
    from samples
    where
        metric = 'clock_offset_s'
        and abs(value) < 450
        and t_ns >= (select min(quarter_ns) from touched)
        and t_ns < (select max(quarter_ns) + 900000000000 from touched)
        and t_ns <= (select now_ns from setting)
    group by all
)

select measured.* from measured semi join touched using (quarter_ns)
union all
-- a quarter-hour whose samples went with their age stays as it was measured
select known.*
from host_offsets_before as known
anti join (select measured.* from measured semi join touched using (quarter_ns)) as again
    on again.host is not distinct from known.host
    and again.source is not distinct from known.source
    and again.quarter_ns = known.quarter_ns
