-- grain: row
-- inputs: none
-- law: all rows go
delete from {table}
