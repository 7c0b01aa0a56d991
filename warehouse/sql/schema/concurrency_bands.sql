-- One row per deployment, quarter-hour and state, had a replica served half or twice as many steps at once (c): what
-- the ledger would then hold. Waste is shown with both, because c decides what is spare.
create table concurrency_bands (
    quarter_ns bigint not null,
    deployment varchar not null,
    band varchar not null, -- half (at least 1) or double
    concurrency integer not null, -- c of the band
    state varchar not null,
    gpu_ns bigint not null,
    cost_usd decimal(38, 12) -- null where a part of what was held has no price
)
