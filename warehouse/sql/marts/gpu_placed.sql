-- grain: GPU whose samples say which deployment of the settings it serves
-- inputs: gpu_servings, deployments, deployment_names
-- law: what was told last counts; of that a name decides before a server's address, the address before its model, the
-- model before a workload, the longer pattern before the shorter
create or replace temp table gpu_placed as
with told as (
    select gpu_servings.*, names.deployment as placed, names.kind as placed_by, names.pattern
    from gpu_servings
    inner join deployment_names as names
        on (
            names.kind = 'address'
            and gpu_servings.served_port is not null
            and (
                names.pattern = gpu_servings.host || ':' || gpu_servings.served_port
                -- a loopback address is the machine's own, so it names a server only where there is one machine
                or (
                    names.pattern in (
                        'localhost:' || gpu_servings.served_port, '127.0.0.1:' || gpu_servings.served_port
                    )
                    and (select count(distinct servings.host) from gpu_servings as servings) = 1
                )
            )
        )
        or (names.kind = 'model' and gpu_servings.served_model glob names.pattern)
        or (names.kind = 'workload' and gpu_servings.workload glob names.pattern)
    union all
    select gpu_servings.*, deployments.deployment, 'attribute', deployments.deployment
    from gpu_servings
    inner join deployments on deployments.deployment = gpu_servings.deployment
)

select gpu_id, placed as deployment, placed_by, host, served_port
from told
qualify row_number() over (
    partition by gpu_id
    order by
        to_ns desc,
        list_position(['attribute', 'address', 'model', 'workload'], placed_by),
        length(pattern) desc,
        placed
) = 1
