-- grain: GPU x unbroken stretch of samples, first sample to last
-- inputs: gpu_sightings, gpu_seen_before, dirty_times, setting
-- law: stretches of one GPU are further apart than released_after
insert into gpu_seen
with touched as (
    select
        coalesce(
            min(from_ns) - (select released_after_ns from setting), 9223372036854775807
        ) as from_ns,
        coalesce(
            max(to_ns) + (select released_after_ns from setting), 9223372036854775807
        ) as to_ns
    from dirty_times
),

parts as (
    select gpu_id, from_ns, least(to_ns, (select from_ns from touched)) as to_ns
    from gpu_seen_before
    where from_ns < (select from_ns from touched)
    union all
    select gpu_id, greatest(from_ns, (select to_ns from touched)), to_ns
    from gpu_seen_before
    where to_ns > (select to_ns from touched)
    union all
    select gpu_id, from_ns, to_ns from gpu_sightings
),

marked as (
    select
        gpu_id,
        from_ns,
        to_ns,
        from_ns - max(to_ns) over (
            partition by gpu_id order by from_ns, to_ns rows between unbounded preceding and 1 preceding
        ) <= (select released_after_ns from setting) as joins
    from parts
),

numbered as (
    select
        gpu_id,
        from_ns,
        to_ns,
        sum((joins is not true)::integer) over (
            partition by gpu_id order by from_ns, to_ns rows unbounded preceding
        ) as stretch
    from marked
)

select gpu_id, min(from_ns), max(to_ns)
from numbered
group by gpu_id, stretch
