-- grain: row of a block that a newer decode replaces
-- inputs: view replaced (journal, sequence)
-- law: the rows of the replaced blocks and no others go
delete from {kind} where (journal, sequence) in (select (replaced.journal, replaced.sequence) from replaced)
