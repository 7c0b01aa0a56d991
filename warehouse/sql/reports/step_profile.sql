-- grain: agent x step x model x deployment
-- inputs: steps, gpus, samples
-- law: percentiles are of counted steps, unweighted, of those that tell the figure; null where none does. Memory is what
--      processes held on the deployment's cards when the step ended, per card, from the newest sample of the minute
--      before; memory_shared says that other steps ran in it then
-- params: deployment, agent
with
chosen as (
    select
        s.*,
        coalesce(s.tool_name, s.name) as step,
        (coalesce(s.busy_end_ns, s.end_ns) // 1000000000)::bigint as end_s
    from steps as s
    where
        s.counted
        and s.start_ns >= $since_ns
        and s.start_ns < $until_ns
        and ($deployment is null or s.deployment = $deployment)
        and ($agent is null or s.agent = $agent)
),

edges as (
    select deployment, busy_start_ns as t_ns, 1 as change from chosen
    where deployment is not null and busy_end_ns > busy_start_ns
    union all
    select deployment, busy_end_ns, -1 from chosen
    where deployment is not null and busy_end_ns > busy_start_ns
),

running as (
    select deployment, t_ns, sum(sum(change)) over (partition by deployment order by t_ns) as in_flight
    from edges
    group by deployment, t_ns
),

held as (
    select c.deployment, p.t_ns, p.mib / c.cards as mib
    from (
        select g.deployment, s.t_ns, sum(s.value) as mib
        from samples as s
        inner join gpu_keys as k
            on k.host is not distinct from s.host
            and k.gpu_uuid is not distinct from s.gpu_uuid
            and k.bus_id is not distinct from s.bus_id
        inner join gpus as g on g.gpu_id = k.gpu_id
        where s.metric = 'process_memory_mib' and g.deployment is not null
        group by g.deployment, s.t_ns
    ) as p
    inner join (
        select deployment, count(*) as cards from gpus where not is_declared group by deployment
    ) as c on p.deployment = c.deployment
),

placed as (
    select c.*, r.in_flight
    from chosen as c
    asof left join running as r on c.deployment = r.deployment and c.busy_start_ns >= r.t_ns
),

measured as (
    select
        p.*,
        case when h.t_ns > coalesce(p.busy_end_ns, p.end_ns) - 60000000000 then h.mib end as memory_mib
    from placed as p
    asof left join held as h on p.deployment = h.deployment and coalesce(p.busy_end_ns, p.end_ns) >= h.t_ns
)

select
    agent,
    step,
    model,
    deployment,
    any_value(kind) as kind,
    count(*) as steps,
    count(*) filter (where status = 'error') as failed,
    quantile_cont((end_ns - start_ns) / 1e9, 0.5) filter (where not coalesce(is_untimed, false)) as duration_p50_s,
    quantile_cont((end_ns - start_ns) / 1e9, 0.95) filter (where not coalesce(is_untimed, false)) as duration_p95_s,
    quantile_cont(ttft_ns / 1e9, 0.5) as ttft_p50_s,
    quantile_cont(ttft_ns / 1e9, 0.95) as ttft_p95_s,
    quantile_cont(queue_ns / 1e9, 0.5) as queue_p50_s,
    quantile_cont(queue_ns / 1e9, 0.95) as queue_p95_s,
    quantile_disc(input_tokens, 0.5) as input_tokens_p50,
    quantile_disc(input_tokens, 0.95) as input_tokens_p95,
    quantile_disc(output_tokens, 0.5) as output_tokens_p50,
    quantile_disc(output_tokens, 0.95) as output_tokens_p95,
    quantile_cont(memory_mib, 0.5) as memory_p50_mib,
    quantile_cont(memory_mib, 0.95) as memory_p95_mib,
    bool_or(in_flight > 1) filter (where memory_mib is not null) as memory_shared,
    bool_or(simulated) as simulated
from measured
group by agent, step, model, deployment
order by steps desc, agent, step, model, deployment
