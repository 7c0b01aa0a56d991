-- One row: what waited in the data folder when the last refresh began. Oldest is null where no block waited.
create table intake (
    looked_ns bigint not null,
    blocks_waiting bigint not null,
    oldest_waiting_ns bigint,
    blocks_quarantined bigint not null
)
