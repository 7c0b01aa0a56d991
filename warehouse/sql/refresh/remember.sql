-- grain: one row
-- inputs: parameters
-- law: written in the refresh's own transaction
insert into refreshes (now_ns, took_ns, configuration) values ($now_ns, $took_ns, $configuration)
