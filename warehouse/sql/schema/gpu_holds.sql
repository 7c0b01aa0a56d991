-- One row per GPU and stretch of time for which it is paid, half-open; from settings, first and last sample and
-- released_after alone. States are never read here.
create table gpu_holds (gpu_id varchar not null, from_ns bigint not null, to_ns bigint not null)
