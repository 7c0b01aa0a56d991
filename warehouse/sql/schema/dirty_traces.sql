-- One row per trace whose spans changed since the last refresh; written with the rows, emptied by the refresh.
create table dirty_traces (trace_id varchar not null)
