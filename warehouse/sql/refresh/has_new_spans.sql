-- grain: one row
-- inputs: dirty_traces
-- law: true from the load of a span until the refresh that shows it
select exists (select 1 from dirty_traces)
