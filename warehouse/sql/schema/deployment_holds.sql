-- One row per stretch of time for which the settings say that a deployment's GPUs were held; half-open.
create table deployment_holds (deployment varchar not null, from_ns bigint not null, to_ns bigint)
