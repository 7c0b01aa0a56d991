-- grain: quarter-hour that a replaced block had samples in
-- inputs: view replaced (journal, sequence), samples
-- law: written in the same transaction, before the rows go; instants after the last whole quarter-hour of
-- BIGINT nanoseconds (the year 2262) mark none
insert into dirty_times
select quarter * 900000000000, (quarter + 1) * 900000000000
from (
    select distinct t_ns // 900000000000 as quarter
    from samples
    semi join replaced using (journal, sequence)
    where t_ns between 0 and 9223371899999999999
)
