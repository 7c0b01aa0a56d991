-- One row per deployment and quarter-hour whose steps were in flight while none of its GPUs could have served
-- them: they pay nothing, and these are their seconds.
create table unplaced_steps (quarter_ns bigint not null, deployment varchar not null, step_ns bigint not null)
