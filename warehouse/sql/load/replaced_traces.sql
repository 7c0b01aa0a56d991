-- grain: trace that a replaced block had spans of
-- inputs: view replaced (journal, sequence), spans
-- law: runs before the rows go, in the same transaction
insert into dirty_traces
select distinct trace_id
from spans
semi join replaced using (journal, sequence)
where trace_id is not null
