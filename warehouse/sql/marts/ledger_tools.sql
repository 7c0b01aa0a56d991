-- grain: tool name, numbered from 1
-- inputs: ledger_leaves
-- law: number 16383 stands for all names beyond
create or replace temp table ledger_tools as
select tool, least(row_number() over (order by tool), 16383)::bigint as number
from (select distinct tool from ledger_leaves where tool is not null)
