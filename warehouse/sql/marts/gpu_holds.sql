-- grain: GPU x stretch of time for which it is paid, half-open, until now at most
-- inputs: gpus, deployment_holds, gpu_seen, gpu_cuts, setting
-- law: stretches of one GPU neither overlap nor touch; no state is read
insert into gpu_holds
with said as (
    select gpus.gpu_id, deployment_holds.from_ns, deployment_holds.to_ns
    from gpus
    inner join deployment_holds on deployment_holds.deployment = gpus.deployment
    union all
    select gpu_seen.gpu_id, gpu_seen.from_ns, gpu_seen.to_ns
    from gpu_seen
    inner join gpus on gpus.gpu_id = gpu_seen.gpu_id
    union all
    -- declared and nothing else is known: from the first to the last step that it served
    select gpu_id, first_ns, last_ns
    from gpus
    where is_declared and deployment not in (select deployment_holds.deployment from deployment_holds)
),

-- a card whose slices are all taken is paid by them alone
uncut as (
    select said.* from said anti join gpu_cuts on gpu_cuts.gpu_id = said.gpu_id
    union all
    select
        said.gpu_id,
        greatest(said.from_ns, gpu_cuts.from_ns),
        least(coalesce(said.to_ns, 9223372036854775807), gpu_cuts.to_ns)
    from said
    inner join gpu_cuts on gpu_cuts.gpu_id = said.gpu_id
    where coalesce(gpu_cuts.taken < 7, true)
),

until_now as (
    select gpu_id, from_ns, least(coalesce(to_ns, now_ns), now_ns) as to_ns
    from uncut, setting
),

marked as (
    select
        gpu_id,
        from_ns,
        to_ns,
        from_ns <= max(to_ns) over (
            partition by gpu_id order by from_ns, to_ns rows between unbounded preceding and 1 preceding
        ) as joins
    from until_now
    where from_ns < to_ns
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
