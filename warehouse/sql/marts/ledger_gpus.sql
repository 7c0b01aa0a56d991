-- grain: GPU, with small numbers for itself, its pool and its replica
-- inputs: gpus, deployments
-- law: the GPUs of a deployment are one pool; a GPU of no deployment is a pool of its own
create or replace temp table ledger_gpus as
select
    (row_number() over (order by gpus.gpu_id))::integer as gpu,
    (dense_rank() over (order by gpus.deployment nulls last, case when gpus.deployment is null then gpus.gpu_id end))
    ::integer as pool,
    coalesce(gpus.replica::integer, 0) as replica_number,
    gpus.gpu_id,
    gpus.gpu_uuid,
    gpus.deployment,
    gpus.replica,
    gpus.is_declared,
    gpus.simulated,
    gpus.idle_w
from gpus
