-- grain: trace of the arriving spans
-- inputs: view arriving (trace_id)
-- law: written in the transaction that changes the rows
insert into dirty_traces select distinct trace_id from arriving where trace_id is not null
