-- grain: GPU x unbroken stretch of samples, as the refresh before knew it
-- inputs: gpu_seen, gpu_renamed
-- law: stretches outside of the touched times stay as they were, even when their samples are gone
create or replace temp table gpu_seen_before as
select coalesce(gpu_renamed.gpu_id, gpu_seen.gpu_id) as gpu_id, gpu_seen.from_ns, gpu_seen.to_ns
from gpu_seen
left join gpu_renamed on gpu_renamed.old_id = gpu_seen.gpu_id
