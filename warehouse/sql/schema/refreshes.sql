-- One row: when the last refresh ran, how long it took, and a digest of the settings and models it ran with.
create table refreshes (now_ns bigint not null, took_ns bigint not null, configuration varchar not null)
