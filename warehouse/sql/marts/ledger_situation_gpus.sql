-- grain: situation x GPU that is held in it
-- inputs: ledger_situations, ledger_gpus, ledger_segments
-- law: what ledger_segments says at the instant that stands for the situation
create or replace temp table ledger_situation_gpus as
with points as (
    select
        situations.situation,
        situations.quarter_ns,
        situations.pool,
        gpus.gpu,
        gpus.replica_number,
        situations.t_ns,
        null as segment
    from ledger_situations as situations
    inner join ledger_gpus as gpus on gpus.pool = situations.pool
    union all
    select null, quarter_ns, pool, gpu, null, from_ns, {'to_ns': to_ns, 'code': code, 'micro_usd': micro_usd}
    from ledger_segments
),

looked as (
    select
        situation,
        pool,
        gpu,
        replica_number,
        t_ns,
        last_value(segment ignore nulls) over (
            partition by quarter_ns, gpu order by t_ns, situation nulls first rows unbounded preceding
        ) as segment
    from points
)

select
    situation,
    pool,
    gpu,
    replica_number,
    segment.code as code,
    segment.micro_usd as micro_usd
from looked
where situation is not null and segment.to_ns > t_ns
