-- One row per GPU known from samples or from the settings, with its place in a deployment.
create table gpus (
    gpu_id varchar not null, -- host/uuid/bus id, or declared/<deployment>/<number>
    host varchar,
    gpu_uuid varchar,
    bus_id varchar,
    gpu_index integer,
    gpu_name varchar,
    sku varchar,
    deployment varchar,
    replica varchar,
    is_declared boolean not null, -- declared in the settings and never sampled
    first_ns bigint,
    last_ns bigint,
    simulated boolean not null,
    parent_uuid varchar, -- of a slice (MIG): the card that it is cut from
    slices integer, -- of a slice: how many of the card's seven compute slices it is
    placed_by varchar, -- why it is in its deployment: uuid, attribute, address, model, workload, sku (dealt) or declared
    idle_w double -- what a card of this name draws when it does nothing, null where nobody measured it
)
