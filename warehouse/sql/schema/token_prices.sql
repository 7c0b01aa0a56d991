-- One row per model name as sources write it, validity and prompt-size tier. Never overwritten: a new price is a new row.
-- Prices are USD per token; the tier test is on the whole prompt, caches included; null means not priced apart.
create table token_prices (
    price_id varchar not null,
    provider varchar,
    model varchar not null,
    from_ns bigint not null,
    to_ns bigint,
    prompt_from_tokens bigint not null,
    prompt_to_tokens bigint,
    input_usd decimal(38, 18) not null,
    cache_read_usd decimal(38, 18),
    cache_write_usd decimal(38, 18),
    cache_write_1h_usd decimal(38, 18),
    output_usd decimal(38, 18) not null,
    source varchar not null,
    checked_on date,
    is_user_row boolean not null
)
