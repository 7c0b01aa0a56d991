-- grain: one row per span of a touched task: of several versions the one that counts
-- inputs: touched_traces, told_logs, spans
-- law: a log row whose call a span tells is left out; the latest end wins, then more filled fields, then the newer
--      decoder, then the content hash; the same ids with a start in another millisecond are another span (an export
--      may have cut the start that was sent live to whole milliseconds). node numbers the spans of a task in order of start: every tie that
--      a later model meets is broken by it, so that the order of arrival cannot matter
create or replace temp table task_spans as
with chosen as (
    select s.rowid as row_id, t.task_id
    from spans as s
    inner join touched_traces as t on s.trace_id = t.trace_id
    where
        s.span_id is not null
        and s.start_ns is not null
        and s.rowid not in (select l.row_id from told_logs as l)
    qualify
        row_number() over (
            partition by s.trace_id, s.span_id, s.start_ns // 1000000
            order by s.end_ns desc nulls last, s.filled desc nulls last, s.decoder_version desc, s.row_hash desc
        ) = 1
)

select
    row_number() over (
        order by c.task_id, s.start_ns, s.end_ns desc nulls last, s.trace_id, s.span_id
    ) as node,
    c.task_id,
    s.trace_id || '/' || s.span_id || '/' || s.start_ns as step_id,
    s.trace_id,
    s.span_id,
    s.parent_span_id,
    s.start_ns,
    greatest(coalesce(s.end_ns, s.start_ns), s.start_ns) as end_ns,
    coalesce(list_contains(s.flags, 'untimed'), false) as is_untimed,
    s.name,
    s.span_kind,
    coalesce(s.status, 'unset') as status,
    s.error_type,
    s.tenant,
    s.service_name,
    s.role,
    s.operation,
    s.provider,
    s.model_requested,
    s.model_response,
    s.response_id,
    s.service_tier,
    s.agent_name,
    s.agent_id,
    s.session_id,
    s.user_id,
    s.task_type,
    s.tool_name,
    s.tool_call_id,
    s.tool_read_only,
    s.input_tokens,
    s.input_tokens_high,
    s.cache_read_tokens,
    s.cache_write_tokens,
    s.cache_write_1h_tokens,
    s.output_tokens,
    s.reasoning_tokens,
    s.total_tokens,
    s.tool_schema_tokens,
    s.tool_schema_provenance,
    s.rollup,
    s.reported_cost_usd,
    s.ttft_ns,
    s.queue_ns,
    s.work_ns,
    s.attempts,
    s.finish_reason,
    s.asked_tool,
    coalesce(s.cached_answer, false) as cached_answer,
    s.server_address,
    s.server_port,
    s.deployment,
    s.replica,
    s.input_hash,
    case
        when s.message_bytes is not null
            then struct_pack(hashes := s.message_hashes, bytes := s.message_bytes)
    end as messages,
    s.args_hash,
    coalesce(s.args_bytes + s.result_bytes, s.args_bytes, s.result_bytes) as payload_bytes,
    s.args_shape_hash,
    s.result_hash,
    coalesce(s.simulated, false) as simulated,
    s.input_tokens is not null or s.output_tokens is not null as has_usage
from spans as s
inner join chosen as c on s.rowid = c.row_id
