-- grain: day x deployment whose concurrency was measured
-- inputs: concurrency_days
-- law: a day's row never changes once it is written
create or replace temp table concurrency_days_before as select * from concurrency_days
