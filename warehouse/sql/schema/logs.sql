-- One row per log record as it arrived; never its text.
-- Columns are warehouse/rows.py's LOGS, then the block that brought the row.
create table logs (
    t_ns bigint,
    received_ns bigint,
    tenant varchar,
    trace_id varchar,
    span_id varchar,
    service_name varchar,
    scope_name varchar,
    event_name varchar,
    severity bigint,
    session_id varchar,
    body_bytes bigint,
    body_hash varchar,
    simulated boolean,
    row_hash varchar,
    journal varchar not null,
    sequence bigint not null,
    decoder_version integer not null
)
