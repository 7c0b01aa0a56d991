-- One row per loaded block above its journal's watermark; merged into the watermark once there is no gap below.
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
    refused bigint not null,
    bills bigint,
    recommendations bigint
)
