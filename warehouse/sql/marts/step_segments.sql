-- grain: one row per counted model call or embedding row and stretch of its prompt or of its output
-- inputs: step_figures, step_rows, step_lines, step_attempts, step_resent, step_loops, task_passes
-- law: a prompt is schema, resent, fresh in that order; from_tokens and to_tokens are places in it. A
--      roll-up's tokens have no order that anyone knows: they are unsplit. Reasoning stands apart, but not in a
--      task of one call, which is its own single pass
create or replace temp table step_segments as
with
sized as (
    select
        f.node,
        f.task_id,
        s.bucket,
        case
            when r.why = 'rollup' then 'rollup'
            when s.bucket is not null then 'whole'
            when f.kind = 'embedding' then 'embedding'
            when f.node = p.first_node then 'first'
            when h.is_side then 'side'
            else 'later'
        end as place,
        coalesce(f.node = p.answer_node, false) as is_answer,
        coalesce(p.calls = 1, false) as is_only_call,
        coalesce(f.input_tokens, 0) as input_tokens,
        least(coalesce(f.tool_schema_tokens, 0), coalesce(f.input_tokens, 0)) as schema_tokens,
        coalesce(h.resent_tokens, 0) as resent_tokens,
        greatest(coalesce(h.resent_tokens, 0) - coalesce(h.first_tokens, 0), 0) as session_tokens,
        coalesce(f.output_tokens, 0) as output_tokens,
        least(coalesce(f.reasoning_tokens, 0), coalesce(f.output_tokens, 0)) as reasoning_tokens
    from step_figures as f
    inner join step_rows as r on f.node = r.node
    inner join task_spans as x on f.node = x.node
    inner join steps as s on x.step_id = s.step_id and f.task_id = s.task_id
    left join step_resent as h on f.node = h.node
    left join task_passes as p on f.task_id = p.task_id
),

prompts as (
    select
        node,
        task_id,
        case place
            when 'rollup' then 'unsplit'
            when 'whole' then bucket
            when 'first' then 'first_prompt'
            else 'fresh_later'
        end as bucket,
        0 as from_tokens,
        input_tokens as to_tokens
    from sized
    where place in ('rollup', 'whole', 'embedding', 'side') or (place = 'first' and session_tokens = 0)
    union all
    select node, task_id, 'first_prompt', 0, schema_tokens + resent_tokens - session_tokens
    from sized
    where place = 'first' and session_tokens > 0
    union all
    select node, task_id, 'first_prompt', schema_tokens + resent_tokens, input_tokens
    from sized
    where place = 'first' and session_tokens > 0
    union all
    select node, task_id, 'tool_schema', 0, schema_tokens
    from sized
    where place = 'later'
    union all
    select
        node,
        task_id,
        'resent_context',
        schema_tokens + case when place = 'later' then 0 else resent_tokens - session_tokens end,
        schema_tokens + resent_tokens
    from sized
    where place = 'later' or (place = 'first' and session_tokens > 0)
    union all
    select node, task_id, 'fresh_later', schema_tokens + resent_tokens, input_tokens
    from sized
    where place = 'later'
),

outputs as (
    select
        node,
        task_id,
        case place when 'rollup' then 'unsplit' else bucket end as bucket,
        output_tokens as tokens
    from sized
    where place in ('rollup', 'whole')
    union all
    select node, task_id, 'reasoning', reasoning_tokens
    from sized
    where place not in ('rollup', 'whole') and not (is_answer and is_only_call)
    union all
    select
        node,
        task_id,
        case when is_answer then 'answer' else 'intermediate_output' end,
        output_tokens - case when is_answer and is_only_call then 0 else reasoning_tokens end
    from sized
    where place not in ('rollup', 'whole')
)

select node, task_id, bucket, false as is_output, from_tokens, to_tokens, to_tokens - from_tokens as tokens
from prompts
where to_tokens > from_tokens
union all
select node, task_id, bucket, true, null, null, tokens
from outputs
where tokens > 0
