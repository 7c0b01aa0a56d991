-- grain: task without a multiplier
-- inputs: tasks, task_tokens, steps
-- law: every task whose token multiplier is null is here, with the first reason that holds
select
    t.task_id,
    t.name,
    t.agent,
    t.status,
    make_timestamp_ns(t.start_ns)::timestamp as started_at,
    t.llm_calls,
    t.total_tokens,
    t.total_cost_usd,
    case
        when k.is_open then 'the task is not over'
        when t.llm_calls is null then 'only a roll-up tells its tokens'
        when t.llm_calls = 0 then 'it made no model call'
        when k.answer_step_id is null and l.finish_reason in ('length', 'content_filter') then 'the last answer was cut'
        when k.answer_step_id is null and l.status = 'error' then 'the last call failed'
        when k.answer_step_id is null and l.output_tokens is null then 'the tokens of the last call are not known'
        when k.answer_step_id is null then 'the last call asked for a tool'
        when k.first_step_id is null then 'no call was answered'
        when t.single_pass_tokens is null then 'the tokens of the first prompt are not known'
        when t.single_pass_tokens = 0 then 'first prompt and answer are empty'
        else 'the tokens of some calls are not known'
    end as reason
from tasks as t
inner join task_tokens as k on t.task_id = k.task_id
left join (
    select task_id, finish_reason, status, output_tokens
    from steps
    where counted and kind = 'llm' and why is null
    qualify row_number() over (partition by task_id order by start_ns desc, step_id desc) = 1
) as l on t.task_id = l.task_id
where t.token_multiplier is null and t.start_ns >= $since_ns and t.start_ns < $until_ns
order by t.start_ns desc, t.task_id
