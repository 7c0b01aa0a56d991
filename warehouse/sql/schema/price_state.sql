-- At most one row: what the price tables were made of, and when.
create table price_state (digest varchar not null, made_ns bigint not null)
