-- grain: task type
-- inputs: tasks, steps
-- law: a turn is a task from its first to its last span; tasks without a length are left out. Overheads are means per round of a task's rounds: queue, time to
--      the first token after it, the rest of the answer, tools' own work, and what is left of the turn when the union
--      of all steps is taken off; parallel steps count each, so the parts may be more than the turn. Calls without a
--      length or a time to first token are in no such mean: calls_timed_ratio, ttft_known_ratio and queue_known_ratio tell how many are.
--      A queue that nobody told is part of the time to the first token
with
chosen as (
    select task_id, coalesce(task_type, agent) as profile, rounds, (end_ns - start_ns) / 1e9 as turn_s, simulated
    from tasks
    where start_ns >= $since_ns and start_ns < $until_ns and rounds > 0 and not provisional and end_ns > start_ns
),

leaves as (
    select
        s.task_id,
        s.kind,
        s.start_ns,
        s.end_ns,
        s.queue_ns,
        s.ttft_ns,
        case when s.kind = 'llm' then s.end_ns - s.start_ns end as call_ns,
        case when s.kind in ('tool', 'retrieval') then coalesce(s.work_ns, s.end_ns - s.start_ns) end as tool_ns,
        max(s.end_ns) over (
            partition by s.task_id order by s.start_ns, s.end_ns, s.step_id rows between unbounded preceding and 1 preceding
        ) as covered_to_ns
    from steps as s
    where
        s.counted
        and s.is_leaf
        and not coalesce(s.is_untimed, false)
        and s.task_id in (select c.task_id from chosen as c)
),

timed as (
    select
        c.task_id,
        c.profile,
        c.rounds,
        c.turn_s,
        c.simulated,
        count(l.call_ns) as calls,
        count(l.ttft_ns) filter (where l.kind = 'llm') as calls_with_ttft,
        sum(l.call_ns) / 1e9 as call_s,
        count(l.queue_ns) filter (where l.kind = 'llm') as calls_with_queue,
        sum(l.queue_ns) filter (where l.kind = 'llm') / 1e9 as queue_s,
        sum(greatest(l.ttft_ns - coalesce(l.queue_ns, 0), 0)) filter (where l.kind = 'llm') / 1e9 as ttft_s,
        sum(greatest(l.call_ns - l.ttft_ns, 0)) / 1e9 as decode_s,
        coalesce(sum(l.tool_ns), 0) / 1e9 as tool_s,
        greatest(
            c.turn_s - sum(greatest(l.end_ns - greatest(l.start_ns, coalesce(l.covered_to_ns, 0)), 0)) / 1e9, 0
        ) as between_s
    from chosen as c
    left join leaves as l on c.task_id = l.task_id
    group by c.task_id, c.profile, c.rounds, c.turn_s, c.simulated
),

attempts as (
    select c.profile, count(*) as calls
    from steps as s
    inner join chosen as c on s.task_id = c.task_id
    where s.counted and s.kind = 'llm'
    group by c.profile
)

select
    t.profile as task_type,
    count(*) as tasks,
    quantile_cont(t.turn_s, 0.5) as turn_p50_s,
    quantile_cont(t.turn_s, 0.95) as turn_p95_s,
    quantile_disc(t.rounds, 0.5) as rounds_p50,
    quantile_disc(t.rounds, 0.95) as rounds_p95,
    quantile_cont(t.turn_s / t.rounds, 0.5) as round_p50_s,
    quantile_cont(t.turn_s / t.rounds, 0.95) as round_p95_s,
    quantile_disc(t.rounds, 0.5) * quantile_cont(t.turn_s / t.rounds, 0.5) as budget_p50_s,
    quantile_disc(t.rounds, 0.95) * quantile_cont(t.turn_s / t.rounds, 0.5) as budget_p95_s,
    avg(t.call_s / t.rounds order by t.task_id) as call_per_round_s,
    sum(t.queue_s order by t.task_id) / nullif(sum(t.calls_with_queue), 0) as queue_per_call_s,
    sum(t.ttft_s order by t.task_id) / nullif(sum(t.calls_with_ttft), 0) as ttft_per_call_s,
    sum(t.decode_s order by t.task_id) / nullif(sum(t.calls_with_ttft), 0) as decode_per_call_s,
    avg(t.tool_s / t.rounds order by t.task_id) as tool_per_round_s,
    avg(t.between_s / t.rounds order by t.task_id) as between_per_round_s,
    sum(t.calls) / nullif(any_value(a.calls), 0) as calls_timed_ratio,
    sum(t.calls_with_ttft) / nullif(any_value(a.calls), 0) as ttft_known_ratio,
    sum(t.calls_with_queue) / nullif(any_value(a.calls), 0) as queue_known_ratio,
    bool_or(t.simulated) as simulated
from timed as t
left join attempts as a on t.profile is not distinct from a.profile
group by t.profile
order by tasks desc, task_type
