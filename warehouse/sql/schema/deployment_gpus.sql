-- One row per GPU uuid that the settings give to a deployment, in the order of the settings.
create table deployment_gpus (deployment varchar not null, position integer not null, gpu_uuid varchar not null)
