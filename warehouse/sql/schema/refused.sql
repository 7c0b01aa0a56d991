-- One row per thing that was not taken, with the reason; never the text that was refused.
-- Columns are warehouse/rows.py's REFUSED, then the block that brought the row.
create table refused (
    received_ns bigint,
    tenant varchar,
    signal varchar,
    source varchar,
    trace_id varchar,
    span_id varchar,
    field varchar,
    value varchar,
    reason varchar,
    journal varchar not null,
    sequence bigint not null,
    decoder_version integer not null
)
