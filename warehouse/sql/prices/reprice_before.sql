-- grain: step of the range that is priced by its tokens, as the refresh before left it
-- inputs: steps, parameters since_ns and until_ns
-- law: belongs to the range by its start
create or replace temp table reprice_before as
select step_id, trace_id, token_cost_usd, price_source
from steps
where counted and paid_by = 'tokens' and start_ns >= $since_ns and start_ns < $until_ns
