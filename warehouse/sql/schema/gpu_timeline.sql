-- One row per GPU and unbroken stretch in one state, cut at quarter-hours. Law: per GPU they tile its holds.
create table gpu_timeline (
    quarter_ns bigint not null,
    gpu_id varchar not null,
    deployment varchar,
    replica varchar,
    from_ns bigint not null,
    to_ns bigint not null,
    state varchar not null,
    cause varchar, -- of tool_wait the tool, of between_steps orchestrator, other_model or person
    provenance varchar not null,
    stalled boolean not null
)
