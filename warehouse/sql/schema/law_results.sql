-- One row per law: how many rows broke it when it was last checked; null where the check itself failed.
create table law_results (law varchar not null, violations bigint, checked_ns bigint not null)
