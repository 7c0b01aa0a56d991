-- One row per deployment and quarter-hour: the steps that one replica is taken to serve at once (c).
create table deployment_concurrency (
    quarter_ns bigint not null,
    deployment varchar not null,
    concurrency integer not null,
    source varchar not null -- settings, the engine's limit, p99 of the day before, or most seen in the quarter-hour
)
