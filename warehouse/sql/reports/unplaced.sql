-- grain: deployment x quarter-hour
-- inputs: unplaced_steps
-- law: seconds of steps in flight while no GPU of the deployment was held, or while the one they name was lost
select
    make_timestamp(quarter_ns // 1000) as quarter_at,
    deployment,
    (step_ns / 1e9)::double as step_s
from unplaced_steps
where quarter_ns >= $since_ns and quarter_ns < $until_ns
order by quarter_at, deployment
