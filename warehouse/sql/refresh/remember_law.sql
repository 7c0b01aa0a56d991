-- grain: law
-- inputs: parameters
-- law: one row per law that was asked
insert into law_results (law, violations, checked_ns) values ($law, $violations, $checked_ns)
