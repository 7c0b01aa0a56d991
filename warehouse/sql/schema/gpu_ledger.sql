-- One row per GPU, quarter-hour, state, cause and provenance. Law: gpu_ns sums to held time, cost_usd to the bill.
create table gpu_ledger (
    quarter_ns bigint not null,
    gpu_id varchar not null,
    deployment varchar,
    state varchar not null,
    cause varchar,
    provenance varchar not null,
    gpu_ns bigint not null,
    cost_usd decimal(38, 12) -- null where no price is known
)
