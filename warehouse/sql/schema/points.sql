-- One row per metric point that is not a GPU sample, as it arrived.
-- Columns are warehouse/rows.py's POINTS, then the block that brought the row.
create table points (
    tenant varchar,
    host varchar,
    service_name varchar,
    scope_name varchar,
    metric varchar,
    unit varchar,
    kind varchar,
    temporality varchar,
    monotonic boolean,
    start_ns bigint,
    t_ns bigint,
    value double,
    count bigint,
    attributes varchar,
    stream_hash varchar,
    simulated boolean,
    journal varchar not null,
    sequence bigint not null,
    decoder_version integer not null
)
