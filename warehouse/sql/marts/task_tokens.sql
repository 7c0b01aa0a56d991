-- grain: one row per task
-- inputs: task_facts, steps, step_buckets, task_passes, task_unexplained, rollup_usage, span_tree
-- law: sums of known figures, null where none is known, beside the share that is known. Calls are unknown where a
--      roll-up is the only source. A failed call without usage used no tokens that anyone knows of
insert into task_tokens by name
with
closed_rollups as (
    select task_id, bool_or(calls = 0) as hides_calls
    from rollup_usage
    where counts
    group by task_id
),

counted as (
    select
        s.*,
        s.kind in ('llm', 'embedding') as has_tokens,
        s.kind = 'llm' and s.why is null as is_call,
        s.input_tokens is not null or s.output_tokens is not null as is_known
    from steps as s
    where s.counted and s.task_id in (select t.task_id from task_facts as t)
),

calls as (
    select
        task_id,
        call_id,
        bool_or(is_known) or bool_and(status = 'error') as is_known
    from counted
    where is_call
    group by task_id, call_id
),

known as (
    select
        c.task_id,
        count(*) as calls,
        count(*) filter (where c.is_known or r.task_id is not null) as known_calls
    from calls as c
    left join closed_rollups as r on c.task_id = r.task_id
    group by c.task_id
),

tools as (
    select
        task_id,
        tool_name,
        coalesce(agent, '') as agent,
        round,
        start_ns,
        greatest(end_ns, start_ns + 1) as after_ns,
        status
    from counted
    where kind = 'tool'
),

tool_retries as (
    select f.task_id, count(*) as tool_retries
    from (select * from tools where status = 'error') as f
    asof inner join (
        select task_id, tool_name, agent, start_ns, min(round) as round from tools
        group by task_id, tool_name, agent, start_ns
    ) as n
        on f.task_id = n.task_id and f.tool_name = n.tool_name and f.agent = n.agent and f.after_ns <= n.start_ns
    where coalesce(n.round, 0) - coalesce(f.round, 0) between 0 and 1
    group by f.task_id
),

summed as (
    select
        task_id,
        count(*) as steps,
        sum(attempts) filter (where is_call) as llm_attempts,
        count(*) filter (where kind = 'tool') as tool_calls,
        sum(input_tokens) as input_tokens,
        sum(cache_read_tokens) as cache_read_tokens,
        sum(cache_write_tokens) as cache_write_tokens,
        sum(output_tokens) as output_tokens,
        sum(reasoning_tokens) as reasoning_tokens,
        sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) filter (where is_known) as total_tokens,
        sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) filter (
            where is_known and token_cost_usd is not null
        ) as priced_tokens,
        bool_or(has_tokens) as has_calls,
        bool_or(has_tokens and is_known and token_cost_usd is null) as has_unpriced,
        sum(token_cost_usd) as token_cost_usd,
        sum(token_cost_low_usd) as token_cost_low_usd,
        sum(token_cost_high_usd) as token_cost_high_usd,
        sum(reported_cost_usd) as reported_cost_usd
    from counted
    group by task_id
),

loops as (
    select r.task_id, count(*) as loops
    from step_loops as p
    inner join step_rows as r on p.node = r.node
    group by r.task_id
),

passes as (
    select
        p.task_id,
        p.answer_node is not null and p.first_node is not null and first_step.input_tokens is not null as is_whole,
        first_step.step_id as first_step_id,
        answer_step.step_id as answer_step_id
    from task_passes as p
    left join task_spans as fs on p.first_node = fs.node
    left join steps as first_step on fs.step_id = first_step.step_id and first_step.task_id = p.task_id
    left join task_spans as ans on p.answer_node = ans.node
    left join steps as answer_step on ans.step_id = answer_step.step_id and answer_step.task_id = p.task_id
),

single as (
    select b.task_id, sum(b.tokens) as tokens
    from step_buckets as b
    where b.bucket in ('first_prompt', 'answer') and b.task_id in (select t.task_id from task_facts as t)
    group by b.task_id
)

select
    t.task_id,
    t.trace_ids,
    t.name,
    t.agent,
    t.task_type,
    t.tenant,
    t.session,
    t.user_id,
    t.status,
    t.start_ns,
    t.end_ns,
    t.is_open,
    coalesce(s.steps, 0) as steps,
    case when not coalesce(r.hides_calls, false) then coalesce(k.calls, 0) end as rounds,
    case when not coalesce(r.hides_calls, false) then coalesce(k.calls, 0) end as llm_calls,
    case when not coalesce(r.hides_calls, false) then coalesce(s.llm_attempts, 0) end::bigint as llm_attempts,
    case
        when not coalesce(r.hides_calls, false) then coalesce(s.llm_attempts, 0) - coalesce(k.calls, 0)
    end::bigint as retries,
    coalesce(s.tool_calls, 0) as tool_calls,
    coalesce(q.tool_retries, 0) as tool_retries,
    coalesce(l.loops, 0) as loops,
    s.input_tokens::bigint as input_tokens,
    s.cache_read_tokens::bigint as cache_read_tokens,
    s.cache_write_tokens::bigint as cache_write_tokens,
    s.output_tokens::bigint as output_tokens,
    s.reasoning_tokens::bigint as reasoning_tokens,
    s.total_tokens::bigint as total_tokens,
    coalesce(u.tokens, 0) as unexplained_tokens,
    case when p.is_whole then o.tokens::bigint end as single_pass_tokens,
    p.answer_step_id,
    p.first_step_id,
    coalesce(s.token_cost_usd, n.nothing_usd)::decimal(38, 12) as token_cost_usd,
    coalesce(s.token_cost_low_usd, n.nothing_usd)::decimal(38, 12) as token_cost_low_usd,
    coalesce(s.token_cost_high_usd, n.nothing_usd)::decimal(38, 12) as token_cost_high_usd,
    s.reported_cost_usd::decimal(38, 12) as reported_cost_usd,
    case when k.calls > 0 then k.known_calls / k.calls when r.hides_calls then 1 end as usage_known_ratio,
    case
        when not coalesce(s.has_unpriced, false) then 1
        when s.total_tokens > 0 then coalesce(s.priced_tokens, 0) / s.total_tokens
    end as priced_ratio,
    t.simulated
from task_facts as t
left join summed as s on t.task_id = s.task_id
left join known as k on t.task_id = k.task_id
left join tool_retries as q on t.task_id = q.task_id
left join loops as l on t.task_id = l.task_id
left join closed_rollups as r on t.task_id = r.task_id
left join task_unexplained as u on t.task_id = u.task_id
left join passes as p on t.task_id = p.task_id
left join single as o on t.task_id = o.task_id
-- What has no call at all paid for no tokens: that is known.
left join (select 0 as nothing_usd) as n on s.task_id is null or not s.has_calls
