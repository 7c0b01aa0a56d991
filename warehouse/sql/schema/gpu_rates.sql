-- One row per GPU and validity of its price; no row where no price is known (cost is then unknown, not 0).
create table gpu_rates (
    gpu_id varchar not null,
    from_ns bigint not null,
    to_ns bigint not null,
    usd_per_hour decimal(18, 6) not null,
    source varchar not null
)
