-- One row per deployment of the settings, rewritten when the warehouse starts.
create table deployments (
    deployment varchar not null,
    concurrency integer,
    sku varchar,
    gpus integer,
    gpus_per_replica integer,
    usd_per_gpu_hour decimal(18, 6),
    price_source varchar
)
