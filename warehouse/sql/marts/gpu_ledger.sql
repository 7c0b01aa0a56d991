-- grain: GPU x quarter-hour x state x cause x provenance
-- inputs: ledger_bills
-- law: gpu_ns sums to held time, cost_usd to the bill
insert into gpu_ledger by name
select
    quarter_ns,
    gpu_id,
    deployment,
    state,
    cause,
    provenance,
    gpu_ns,
    pico_usd::decimal(26, 0) * 0.000000000001::decimal(12, 12) as cost_usd
from ledger_bills
