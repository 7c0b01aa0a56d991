-- grain: deployment x quarter-hour, as the refresh before knew it
-- inputs: engine_limits
-- law: what is known stays known when the points are gone
create or replace temp table engine_limits_before as select * from engine_limits
