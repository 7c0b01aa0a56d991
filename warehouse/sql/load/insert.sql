-- grain: row of the arriving blocks
-- inputs: view arriving (pyarrow)
-- law: by name, so that a table's columns may stand in another order
insert into {kind} by name select * from arriving
