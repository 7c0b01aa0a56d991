-- grain: at most one row, the last refresh
-- inputs: refreshes
-- law: what an earlier refresh left
select now_ns, took_ns, configuration from refreshes
