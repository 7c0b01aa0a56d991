-- One row per line of an imported bill, as it arrived.
-- Columns are warehouse/rows.py's BILLS, then the block that brought the row.
create table bills (
    received_ns bigint,
    tenant varchar,
    file varchar,
    line bigint,
    account varchar,
    provider varchar,
    service varchar,
    sku varchar,
    resource varchar,
    region varchar,
    category varchar,
    description varchar,
    unit varchar,
    period_ns bigint,
    from_ns bigint,
    to_ns bigint,
    billed_usd decimal(38, 12),
    quantity double,
    journal varchar not null,
    sequence bigint not null,
    decoder_version integer not null
)
