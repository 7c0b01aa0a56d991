-- grain: row of a data file of ours, made a temporary table
-- inputs: arriving (registered); the name is ours
-- law: replaces what was there
create or replace temp table {table} as select * from arriving
