-- One row per SKU, provider, kind and date of a price list; USD for one GPU for one hour. User rows win.
create table gpu_prices (
    sku varchar not null,
    provider varchar not null,
    region varchar,
    kind varchar not null,
    usd_per_gpu_hour decimal(18, 6) not null,
    from_ns bigint not null,
    source varchar not null,
    is_default boolean not null,
    is_user_row boolean not null
)
