-- grain: step of the range
-- inputs: steps, parameters since_ns and until_ns
-- law: without an edition of its own a step is priced by the newest
update steps
set price_known_ns = null
where start_ns >= $since_ns and start_ns < $until_ns and price_known_ns is not null
