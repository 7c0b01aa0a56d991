-- grain: quarter-hour that a replaced block had samples in
-- inputs: view replaced (journal, sequence), samples
-- law: runs before the rows go, in the same transaction
insert into dirty_times
select quarter * 900000000000, (quarter + 1) * 900000000000
from (
    select distinct t_ns // 900000000000 as quarter
    from samples
    semi join replaced using (journal, sequence)
    where t_ns >= 0
)
