-- One row per edition of the price book: what it was made of, and since when it is known. The newest prices whatever
-- was not priced before.
create table price_state (digest varchar not null, made_ns bigint not null)
