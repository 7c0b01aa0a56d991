-- grain: GPU whose id another source's name changed since the refresh before
-- inputs: gpu_keys_before, gpu_keys
-- law: a GPU that was known is known on under its new id
create or replace temp table gpu_renamed as
select before.gpu_id as old_id, min(now.gpu_id) as gpu_id
from gpu_keys_before as before
inner join gpu_keys as now
    on now.host is not distinct from before.host
    and now.gpu_uuid is not distinct from before.gpu_uuid
    and now.bus_id is not distinct from before.bus_id
group by before.gpu_id
having min(now.gpu_id) <> before.gpu_id
