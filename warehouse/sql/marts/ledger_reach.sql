-- grain: one row
-- inputs: setting, gpu_keys, host_offsets
-- law: how far, in ns, one row is ever read: a sample speaks for up to 3 intervals before it and its carried
-- figures for 15 after it, a step explains a busy sample across the clock tolerance, a model may load for
-- 900 s, and a source with its own rhythm (120 s at most) shows it in its last 5 samples; and by as much as
-- a clock was off
create or replace temp table ledger_reach as
select
    3 * if(others.are_there, greatest(sample_interval_ns, 120000000000), sample_interval_ns) + clock_tolerance_ns
    + furthest.offset_ns as back_ns,
    greatest(15 * sample_interval_ns, released_after_ns, 900000000000) + furthest.offset_ns as ahead_ns
from setting, (select coalesce(bool_or(from_others), false) as are_there from gpu_keys) as others,
    (select coalesce(max(abs(offset_ns)), 0) as offset_ns from host_offsets) as furthest
