-- One row per SKU and validity of the price in force; USD for one GPU for one hour. Of a SKU no two overlap. A changed
-- list holds from the instant it was known on; what was before changes only by repricing.
create table gpu_prices (
    sku varchar not null,
    provider varchar not null,
    region varchar,
    kind varchar not null,
    usd_per_gpu_hour decimal(18, 6) not null,
    from_ns bigint not null,
    source varchar not null,
    is_default boolean not null,
    is_user_row boolean not null,
    to_ns bigint -- null: until the next row of the SKU
)
