-- grain: quarter-hour that the arriving samples fall into
-- inputs: view arriving (t_ns)
-- law: written in the transaction that changes the rows
insert into dirty_times
select quarter * 900000000000, (quarter + 1) * 900000000000
from (select distinct t_ns // 900000000000 as quarter from arriving where t_ns >= 0)
