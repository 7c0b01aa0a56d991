-- grain: quarter-hour that the arriving samples fall into
-- inputs: view arriving (t_ns)
-- law: written in the same transaction, with the rows themselves; instants after the last whole quarter-hour of
-- BIGINT nanoseconds (the year 2262) mark none
insert into dirty_times
select quarter * 900000000000, (quarter + 1) * 900000000000
from (select distinct t_ns // 900000000000 as quarter from arriving where t_ns between 0 and 9223371899999999999)
