-- grain: thing that was not taken, the latest first
-- inputs: refused
-- law: counts in health equal the rows here
-- params: reason, max_rows=1000
select
    make_timestamp(received_ns // 1000) as received_at,
    tenant,
    signal,
    source,
    trace_id,
    span_id,
    field,
    value,
    reason,
    journal,
    sequence
from refused
where (received_ns is null or received_ns between $since_ns and $until_ns - 1)
    and ($reason is null or reason = $reason)
order by received_ns desc nulls last, journal, sequence
limit $max_rows
