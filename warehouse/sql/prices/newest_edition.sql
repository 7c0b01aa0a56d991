-- grain: at most one row, the newest edition of the price book
-- inputs: price_state
-- law: editions are ordered by the instant from which they are known
select digest, made_ns
from price_state
order by made_ns desc
limit 1
