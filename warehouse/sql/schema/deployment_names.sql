-- One row per model pattern (glob), address or workload pattern (glob) of a deployment; kind says which.
create table deployment_names (deployment varchar not null, kind varchar not null, pattern varchar not null)
