-- grain: quarter-hour x pool x boundary of a step, of a wait, of a hold or of the fleet
-- inputs: ledger_pieces, ledger_waits, ledger_deeds, ledger_fleets, ledger_named_shares
-- law: turn orders the boundaries; between equal times nothing lasts, so their order cannot matter. kind is f of a
-- step that shares the pool, t and b of a wait; key is its piece or wait
create or replace temp table ledger_moments as
with edges as (
    -- counts packed from the lowest bit: 18 in flight, 18 of them naming no replica, 20 waiting for tools,
    -- 21 waiting otherwise, 21 holding, 21 the turn of the fleet
    select
        quarter_ns,
        pool,
        unnest([from_ns, to_ns]) as t_ns,
        unnest([1, -1]) * (1 + (replica_number is null)::bigint * 262144)::hugeint as counts,
        0::hugeint as causes,
        'f' as kind,
        piece as key,
        unnest([1, -1]) as sign
    from ledger_pieces
    union all
    select
        quarter_ns,
        pool,
        unnest([from_ns, to_ns]),
        unnest([1, -1]) * case when tools > 0 then 68719476736::hugeint else 72057594037927936::hugeint end,
        -- 35 bits the sum of tool numbers, 49 of their squares, 21 waiting for another model, 21 for a person
        unnest([1, -1]) * case cause
            when 'tool' then tool + tool * tool * 34359738368::hugeint
            when 'other_model' then 19342813113834066795298816::hugeint
            when 'person' then 40564819207303340847894502572032::hugeint
            else 0::hugeint
        end,
        case when tools > 0 then 't' else 'b' end,
        wait,
        unnest([1, -1])
    from ledger_waits
    union all
    select
        quarter_ns,
        pool,
        unnest([from_ns, to_ns]),
        unnest([1, -1]) * 151115727451828646838272::hugeint,
        0,
        'h',
        null,
        0
    from ledger_deeds
    where deed = 'hold'
    union all
    select quarter_ns, pool, t_ns, 316912650057057350374175801344::hugeint, 0, 'g', null, 0
    from ledger_fleets
),

running as (
    select
        quarter_ns,
        pool,
        kind,
        key,
        sign,
        t_ns,
        row_number() over boundary as turn,
        lead(t_ns) over boundary - t_ns as length_ns,
        sum(counts) over boundary as counts,
        sum(causes) over boundary as causes
    from edges
    window boundary as (partition by quarter_ns, pool order by t_ns rows unbounded preceding)
)

select
    quarter_ns,
    pool,
    kind,
    key,
    sign,
    t_ns,
    turn,
    coalesce(length_ns, 0) as length_ns,
    (counts & 262143)::bigint as in_flight,
    (counts >> 18 & 262143)::bigint as unnamed,
    (counts >> 36 & 1048575)::bigint as for_tools,
    (counts >> 56 & 2097151)::bigint as otherwise,
    (counts >> 77 & 2097151)::bigint as holding,
    (counts >> 98)::bigint as fleet_turn,
    causes
from running
