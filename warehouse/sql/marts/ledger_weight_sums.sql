-- grain: boundary of ledger_moments (replica_number null) or of ledger_replica_moments, where steps are weighed; else
--   no row
-- inputs: ledger_moments, ledger_replica_moments, ledger_weights, setting
-- law: the sum of the weights in flight after the boundary
create or replace temp table ledger_weight_sums as
select
    moments.quarter_ns,
    moments.pool,
    null::integer as replica_number,
    moments.turn,
    sum(moments.sign * coalesce(weights.weight, 0)) over (
        partition by moments.quarter_ns, moments.pool order by moments.turn rows unbounded preceding
    )::double as weight
from ledger_moments as moments
left join ledger_weights as weights on weights.piece = case when moments.kind = 'f' then moments.key end
where (select weights = 'tokens' from setting)
union all
select
    moments.quarter_ns,
    moments.pool,
    moments.replica_number,
    moments.turn,
    sum(moments.sign * coalesce(weights.weight, 0)) over (
        partition by moments.quarter_ns, moments.pool, moments.replica_number
        order by moments.turn rows unbounded preceding
    )::double
from ledger_replica_moments as moments
left join ledger_weights as weights on weights.piece = moments.piece
where (select weights = 'tokens' from setting)
