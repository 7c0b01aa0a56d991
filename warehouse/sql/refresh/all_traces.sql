-- grain: trace
-- inputs: spans
-- law: every task is computed again
insert into dirty_traces select distinct trace_id from spans where trace_id is not null
