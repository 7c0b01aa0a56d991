-- One row per GPU, metric and instant as it arrived; of equal times the models choose.
-- Columns are warehouse/rows.py's SAMPLES, then the block that brought the row.
create table samples (
    tenant varchar,
    host varchar,
    gpu_uuid varchar,
    bus_id varchar,
    gpu_index bigint,
    gpu_name varchar,
    parent_uuid varchar,
    slices bigint,
    deployment varchar,
    served_model varchar,
    served_port bigint,
    workload varchar,
    source varchar,
    metric varchar,
    pid bigint,
    t_ns bigint,
    value double,
    simulated boolean,
    journal varchar not null,
    sequence bigint not null,
    decoder_version integer not null
)
