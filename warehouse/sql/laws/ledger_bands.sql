-- grain: deployment x quarter-hour x band that breaks it
-- inputs: concurrency_bands, gpu_ledger
-- law: another concurrency moves held time between states and makes none: it sums to what the ledger holds
with banded as (
    select quarter_ns, deployment, band, sum(gpu_ns) as ns
    from concurrency_bands
    group by quarter_ns, deployment, band
),

held as (
    select quarter_ns, deployment, sum(gpu_ns) as ns
    from gpu_ledger
    where deployment is not null
    group by quarter_ns, deployment
)

select
    coalesce(banded.quarter_ns, held.quarter_ns) as quarter_ns,
    coalesce(banded.deployment, held.deployment) as deployment,
    banded.band,
    banded.ns as band_ns,
    held.ns as held_ns
from held
full join banded on banded.quarter_ns = held.quarter_ns and banded.deployment = held.deployment
where banded.ns is distinct from held.ns
