-- grain: trace with a step that no edition priced
-- inputs: steps
-- law: a new edition prices what had no price; what was priced keeps its edition
insert into dirty_traces
select distinct trace_id
from steps
where counted and paid_by = 'tokens' and price_known_ns is null and input_tokens is not null
