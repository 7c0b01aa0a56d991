-- One row per edition, model name as sources write it, validity and prompt-size tier. Never overwritten: an edition
-- is what was known from known_ns on, and a step keeps the edition that priced it first.
-- Prices are USD per token; null means not priced apart. prompt_from/to: the tier, tested on the whole prompt, caches
-- included, half-open. day_from/to: seconds of the UTC day for which it holds, half-open, null for all day.
create table token_prices (
    price_id varchar not null,
    known_ns bigint not null, -- the edition: price_state.made_ns
    model varchar not null,
    service_tier varchar, -- null is the ordinary one
    from_ns bigint not null,
    to_ns bigint,
    prompt_from_tokens bigint not null,
    prompt_to_tokens bigint,
    day_from_s integer,
    day_to_s integer,
    input_usd decimal(38, 18) not null,
    cache_read_usd decimal(38, 18),
    cache_write_usd decimal(38, 18),
    cache_write_1h_usd decimal(38, 18),
    output_usd decimal(38, 18) not null,
    source varchar not null,
    is_user_row boolean not null
)
