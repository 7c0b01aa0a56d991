-- One row per GPU and thing that its samples say of whom it serves, first to last sample. It outlives the samples.
create table gpu_servings (
    gpu_id varchar not null,
    deployment varchar, -- as the resource or the point names it
    host varchar,
    served_port bigint,
    served_model varchar,
    workload varchar, -- namespace/pod/container
    from_ns bigint not null,
    to_ns bigint not null
)
