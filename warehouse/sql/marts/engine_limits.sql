-- grain: deployment x quarter-hour in which its engines told their limit
-- inputs: engine_limits_before, points, deployment_names, setting
-- law: of replicas that differ the least counts, so that nothing is called spare that could not serve. The deployment is
-- the one that the point names, else that of the engine's address, else that of its model
insert into engine_limits by name
with told as (
    select
        t_ns // 900000000000 * 900000000000 as quarter_ns,
        attributes ->> '$."taximeter.deployment"' as deployment,
        coalesce(attributes ->> '$."service.instance.id"', host) as instance,
        coalesce(attributes ->> '$.model_name', attributes ->> '$.model') as model,
        case
            when metric = 'taximeter.engine.max_num_seqs' then value
            else try_cast(attributes ->> '$.max_num_seqs' as double)
        end as max_num_seqs
    from points
    where metric in ('taximeter.engine.max_num_seqs', 'vllm:cache_config_info') and t_ns <= (select now_ns from setting)
),

placed as (
    select
        coalesce(
            told.deployment,
            (
                select min(names.deployment)
                from deployment_names as names
                where names.kind = 'address' and names.pattern = told.instance
            ),
            (
                select arg_min(names.deployment, lpad((10000 - length(names.pattern))::varchar, 5, '0') || names.deployment)
                from deployment_names as names
                where names.kind = 'model' and told.model glob names.pattern
            )
        ) as deployment,
        told.quarter_ns,
        told.max_num_seqs
    from (
        select deployment, instance, model, quarter_ns, min(max_num_seqs) as max_num_seqs
        from told
        where max_num_seqs >= 1 and max_num_seqs <= 1000000
        group by all
    ) as told
)

select deployment, quarter_ns, min(max_num_seqs)::integer as max_num_seqs
from (
    select deployment, quarter_ns, max_num_seqs from placed where deployment is not null
    union all
    select deployment, quarter_ns, max_num_seqs from engine_limits_before
)
group by deployment, quarter_ns
