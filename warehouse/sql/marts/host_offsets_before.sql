-- grain: host x sampler x quarter-hour, as the refresh before knew it
-- inputs: host_offsets
-- law: what was measured stays known when the samples are gone
create or replace temp table host_offsets_before as select * from host_offsets
