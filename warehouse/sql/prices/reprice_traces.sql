-- grain: trace with a step of the range
-- inputs: reprice_before
-- law: the tasks of these steps are computed again, and no others
insert into dirty_traces
select distinct trace_id from reprice_before
