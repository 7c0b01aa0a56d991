-- grain: one row
-- inputs: setting
-- law: how far, in ns, one row is ever read: a sample speaks for up to 3 intervals before it and its carried
-- figures for 15 after it, a step explains a busy sample across the clock tolerance, a model may load for
-- released_after
create or replace temp table ledger_reach as
select
    3 * sample_interval_ns + clock_tolerance_ns as back_ns,
    greatest(15 * sample_interval_ns, released_after_ns) as ahead_ns
from setting
