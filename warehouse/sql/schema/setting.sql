-- One row: the thresholds of the last refresh and its now, which models and reports read; durations in ns.
create table setting (
    now_ns bigint not null,
    settle_ns bigint not null,
    task_timeout_ns bigint not null,
    released_after_ns bigint not null,
    sample_interval_ns bigint not null,
    busy_ratio double not null,
    clock_tolerance_ns bigint not null,
    weights varchar -- how steps in flight share a GPU: equal, or tokens
)
