-- grain: piece of a step, where the settings weigh steps by their tokens; else no row
-- inputs: ledger_pieces, ledger_steps, setting
-- law: token work per second in flight, whole, from 1 to 10^9; a step whose usage is unknown weighs as the median of the
-- known ones of its pool and quarter-hour, and 1 where none is known
create or replace temp table ledger_weights as
select
    pieces.piece,
    coalesce(
        steps.work_per_s,
        quantile_disc(steps.work_per_s, 0.5) over (partition by pieces.quarter_ns, pieces.pool),
        1
    )::bigint as weight
from ledger_pieces as pieces
inner join ledger_steps as steps on steps.step = pieces.step
where (select weights = 'tokens' from setting)
