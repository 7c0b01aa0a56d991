-- One row per edition and (provider, model) that any span named: the name in token_prices it is priced by, null if
-- none. Provider is '' where the span names none.
create table price_names (
    known_ns bigint not null, -- the edition: price_state.made_ns
    provider varchar not null,
    model varchar not null,
    priced_as varchar
)
