-- One row per loaded block; a re-decode of a block replaces its rows.
-- Written in the transaction that inserts the block's rows: this is what makes the load exactly-once.
create table blocks (
    journal varchar not null,
    sequence bigint not null,
    decoder_version integer not null,
    loaded_ns bigint not null,
    spans bigint not null,
    samples bigint not null,
    logs bigint not null,
    points bigint not null,
    refused bigint not null
)
