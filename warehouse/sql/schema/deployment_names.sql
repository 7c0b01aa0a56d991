-- One row per model pattern (glob) or address of a deployment; kind is model or address.
create table deployment_names (deployment varchar not null, kind varchar not null, pattern varchar not null)
