-- One row per UTC day and deployment without a setting: the p99 of steps per replica on the day before, as it was
-- known when the day's first figure was computed. A row never changes.
create table concurrency_days (day_ns bigint not null, deployment varchar not null, concurrency integer not null)
