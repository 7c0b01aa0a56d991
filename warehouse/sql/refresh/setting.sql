-- grain: one row
-- inputs: parameters, durations in nanoseconds
-- law: models and reports read their thresholds here and nowhere else
insert into setting
select
    $now_ns,
    $settle_ns,
    $task_timeout_ns,
    $released_after_ns,
    $sample_interval_ns,
    $busy_ratio,
    $clock_tolerance_ns,
    $weights
