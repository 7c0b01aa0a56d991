-- grain: one row per counted model call row of a touched task that is not a roll-up: its thread and what it sent again
-- inputs: step_lines, step_figures, step_rows, step_attempts, task_spans, task_facts, touched_tasks, task_tokens, steps
-- law: a thread is a line of work and a model; the root lines of a session's tasks are one. Resent is
--      what the thread's latest answered call that had ended left behind, schemas and reasoning apart. Where hashes
--      prove that not all messages of that call of the same task came again, it is at most the bytes' share of those
--      that did, and that call's answer if it follows on them; messages that cannot be the whole prompt (under
--      3 bytes a token: a conversation kept by the server) prove nothing. A call
--      with less than half the input of its thread's first call is a side call: it resends nothing and nothing
--      follows it
create or replace temp table step_resent as
with
mine as (
    select
        f.node,
        f.task_id,
        s.step_id,
        case
            when l.is_root and k.session is not null
                then coalesce(k.tenant, '') || '/' || k.session || '/' || coalesce(l.agent, '')
            else l.task_id || '/' || coalesce(w.span_id, '')
        end
        || '/' || coalesce(l.side, '') || '/' || coalesce(l.model, '') as thread,
        s.start_ns,
        s.end_ns,
        f.messages,
        f.input_tokens,
        least(coalesce(f.tool_schema_tokens, 0), f.input_tokens) as schema_tokens,
        coalesce(f.output_tokens, 0) - coalesce(f.reasoning_tokens, 0) as said_tokens,
        not r.failed and not r.is_try as is_answered
    from step_figures as f
    inner join step_rows as r on f.node = r.node
    inner join step_lines as l on f.node = l.node
    inner join task_spans as s on f.node = s.node
    inner join task_facts as k on f.task_id = k.task_id
    left join task_spans as w on l.scope = w.node
    where r.kind = 'llm' and r.why is null
),

earlier as (
    select
        null::bigint as node,
        s.task_id,
        s.step_id,
        s.thread,
        s.start_ns,
        s.end_ns,
        null as messages,
        s.input_tokens,
        least(coalesce(s.tool_schema_tokens, 0), s.input_tokens) as schema_tokens,
        coalesce(s.output_tokens, 0) - coalesce(s.reasoning_tokens, 0) as said_tokens,
        s.status <> 'error' as is_answered
    from steps as s
    where
        s.counted
        and s.kind = 'llm'
        and s.task_id in (
            select t.task_id
            from task_tokens as t
            inner join task_facts as k on t.session = k.session and t.tenant is not distinct from k.tenant
            where t.task_id not in (select d.task_id from touched_tasks as d)
        )
        and s.thread in (select m.thread from mine as m)
),

everyone as (
    select * from mine
    union all
    select * from earlier
),

firsts as (
    select thread, first(input_tokens order by start_ns, step_id) as first_tokens
    from everyone
    where input_tokens is not null
    group by thread
),

sided as (
    select e.*, f.first_tokens, coalesce(e.input_tokens * 2 < f.first_tokens, false) as is_side
    from everyone as e
    left join firsts as f on e.thread = f.thread
),

-- Every end of an answered call leaves a context behind; every start takes the latest one left by then.
moments as (
    select
        thread,
        greatest(end_ns, start_ns + 1) as t_ns, -- a call that took no time is not its own predecessor
        false as is_start,
        last(
            struct_pack(tokens := input_tokens - schema_tokens + said_tokens, by := node) order by start_ns, step_id
        ) as left_behind,
        null::bigint as node
    from sided
    where is_answered and not is_side and input_tokens is not null
    group by thread, greatest(end_ns, start_ns + 1)
    union all
    select thread, start_ns, true, null, node
    from sided
    where node is not null
),

found as (
    select
        node,
        is_start,
        last_value(left_behind ignore nulls) over (
            partition by thread order by t_ns, is_start rows between unbounded preceding and current row
        ) as left_behind
    from moments
),

-- Only a call that dropped or changed messages is here.
changed as (
    select
        m.node,
        m.input_tokens - m.schema_tokens as prompt_tokens,
        list_sum(m.messages.bytes) as prompt_bytes,
        coalesce(
            list_sum(
                list_transform(
                    m.messages.hashes,
                    lambda hash, place: case
                        when list_contains(q.messages.hashes, hash) then m.messages.bytes[place] else 0
                    end
                )
            ),
            0
        ) as again_bytes,
        case
            when list_contains(m.messages.hashes[:-2], q.messages.hashes[-1]) then q.said_tokens else 0
        end as answer_tokens
    from found as p
    inner join mine as m on p.node = m.node
    inner join mine as q on p.left_behind.by = q.node and m.task_id = q.task_id
    where
        p.is_start
        and list_sum(m.messages.bytes) >= 3 * (m.input_tokens - m.schema_tokens)
        and not list_has_all(m.messages.hashes, q.messages.hashes)
)

select
    m.node,
    m.task_id,
    m.thread,
    m.first_tokens,
    m.is_side,
    case
        when m.input_tokens is null then null
        when m.is_side then 0
        else
            greatest(
                least(
                    m.input_tokens - m.schema_tokens,
                    coalesce(p.left_behind.tokens, 0),
                    c.prompt_tokens * c.again_bytes // nullif(c.prompt_bytes, 0) + c.answer_tokens
                ),
                0
            )
    end as resent_tokens
from sided as m
inner join found as p on m.node = p.node
left join changed as c on m.node = c.node
where p.is_start
