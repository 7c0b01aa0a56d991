-- grain: one stretch, from the first sample or declared hold until now
-- inputs: samples, deployment_holds, parameter now_ns
-- law: every quarter-hour that can hold GPU time is computed again
insert into dirty_times
select from_ns, $now_ns::bigint
from (
    select min(from_ns) as from_ns
    from (
        select min(t_ns) as from_ns from samples
        union all
        select min(from_ns) as from_ns from deployment_holds
    )
)
where from_ns < $now_ns
