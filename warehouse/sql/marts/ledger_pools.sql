-- grain: pool of GPUs
-- inputs: ledger_gpus, deployments
-- law: a GPU of no deployment has no name and no steps
create or replace temp table ledger_pools as
select
    ledger_gpus.pool,
    ledger_gpus.deployment,
    any_value(deployments.concurrency) as concurrency,
    count(distinct ledger_gpus.replica_number)::integer as replicas
from ledger_gpus
left join deployments on deployments.deployment = ledger_gpus.deployment
group by ledger_gpus.pool, ledger_gpus.deployment
