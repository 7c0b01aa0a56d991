-- grain: GPU x unbroken stretch of samples, as the refresh before knew it
-- inputs: gpu_seen
-- law: stretches outside of the touched times stay as they were, even when their samples are gone
create or replace temp table gpu_seen_before as select * from gpu_seen
