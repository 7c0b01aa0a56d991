-- One row per name under which a source tells a GPU, and the GPU that it is. It outlives the samples.
create table gpu_keys (
    host varchar,
    gpu_uuid varchar,
    bus_id varchar,
    gpu_id varchar not null,
    from_others boolean not null -- another source than our own agent tells it
)
