-- Makes a temporary table of rows that a data file of ours holds; its name is ours.
create or replace temp table {table} as select * from arriving
