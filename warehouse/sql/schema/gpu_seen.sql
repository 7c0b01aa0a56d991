-- One row per GPU and unbroken stretch of its samples, first sample to last: no two further apart than
-- released_after. It outlives the samples.
create table gpu_seen (gpu_id varchar not null, from_ns bigint not null, to_ns bigint not null)
