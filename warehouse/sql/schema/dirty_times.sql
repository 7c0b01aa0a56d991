-- One row per stretch of time whose GPU samples, holds or prices changed since the last refresh.
create table dirty_times (from_ns bigint not null, to_ns bigint not null)
