-- One row per name under which a source tells a GPU, and the GPU that it is. It outlives the samples.
create table gpu_keys (
    host varchar,
    gpu_uuid varchar,
    bus_id varchar,
    gpu_id varchar not null,
    parent_uuid varchar, -- of a slice (MIG): the card that it is cut from
    slices bigint, -- of a slice: how many of the card's seven compute slices it is
    from_others boolean not null -- another source than our own agent tells it
)
