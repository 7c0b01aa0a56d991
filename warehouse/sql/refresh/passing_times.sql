-- grain: one stretch, from the last refresh until now
-- inputs: refreshes, parameter now_ns
-- law: GPUs that are held are paid while nothing arrives
insert into dirty_times select now_ns, $now_ns::bigint from refreshes where now_ns < $now_ns
