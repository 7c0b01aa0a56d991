-- grain: row of a quarter-hour that is computed again
-- inputs: dirty_quarters
-- law: the rows of the dirty quarter-hours and no others go
delete from {table} where quarter_ns in (select quarter_ns from dirty_quarters)
