-- grain: as ledger_claims
-- inputs: ledger_claims, ledger_cells
-- law: per (quarter-hour, deployment, state) gpu_ns and pico_usd sum to the cell: floor, the rest to the largest
-- remainders, ties to the smallest id. Who could be placed nowhere pays no time and an unknown price
create or replace temp table ledger_paid as
with parts as (
    select
        claims.*,
        cells.gpu_ns as cell_ns,
        cells.pico_usd as cell_pico_usd,
        cells.gpu_ns::double * (time_share::double / sum(time_share) over cell) as exact_ns,
        cells.pico_usd::double
        * (money_share::double / nullif(sum(money_share) over cell, 0)) as exact_pico_usd
    from ledger_claims as claims
    left join ledger_cells as cells
        on cells.quarter_ns = claims.quarter_ns
        and cells.deployment = claims.deployment
        and cells.state = claims.state
    where claims.time_share > 0
    window cell as (partition by claims.quarter_ns, claims.deployment, claims.state)
),

-- a hair less than the quotient, so that an inexact one never floors to more than the exact one
floored as (
    select
        *,
        greatest(0, floor(exact_ns - 0.01))::hugeint as whole_ns,
        greatest(0, floor(coalesce(exact_pico_usd, 0) - 0.01))::hugeint as whole_pico_usd
    from parts
),

ranked as (
    select
        *,
        cell_ns - sum(whole_ns) over cell as rest_ns,
        cell_pico_usd - sum(whole_pico_usd) over cell as rest_pico_usd,
        count(*) over cell as claimants,
        row_number() over (
            partition by quarter_ns, deployment, state
            order by exact_ns - whole_ns::double desc, task_id, step_id, cause
        ) as place_ns,
        row_number() over (
            partition by quarter_ns, deployment, state
            order by coalesce(exact_pico_usd, 0) - whole_pico_usd::double desc, task_id, step_id, cause
        ) as place_pico_usd
    from floored
    window cell as (partition by quarter_ns, deployment, state)
)

select
    quarter_ns,
    deployment,
    state,
    task_id,
    step_id,
    cause,
    (whole_ns + rest_ns // claimants + (place_ns <= rest_ns % claimants)::integer)::bigint as gpu_ns,
    whole_pico_usd + rest_pico_usd // claimants + (place_pico_usd <= rest_pico_usd % claimants)::integer as pico_usd
from ranked
union all
select quarter_ns, deployment, state, task_id, step_id, cause, 0, null
from ledger_claims
where time_share <= 0
