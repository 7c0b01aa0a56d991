-- grain: one row if the table has any
-- inputs: the table
-- law: tells whether models that only work for its rows have anything to do
select 1 from {table} limit 1
