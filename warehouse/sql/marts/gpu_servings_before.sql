-- grain: GPU x what its samples say of whom it serves, as the refresh before knew it
-- inputs: gpu_servings, gpu_renamed
-- law: what was once told stays told, even when its samples are gone
create or replace temp table gpu_servings_before as
select gpu_servings.* replace (coalesce(gpu_renamed.gpu_id, gpu_servings.gpu_id) as gpu_id)
from gpu_servings
left join gpu_renamed on gpu_renamed.old_id = gpu_servings.gpu_id
