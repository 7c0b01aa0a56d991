"""Tells a task as a command-line coding agent does: bare token names, tries inside a call, permissions."""

from opentelemetry.trace import Span

from collector.demo.plan import Call, Task, Tool
from collector.demo.telling import Attributes, Said, Telling
from taximeter.clock import NS_PER_MS

_ANSWER_STOPS = {True: "tool_use", False: "end_turn"}


def tell(task: Task, telling: Telling) -> None:
    """Start the spans of a task: one interaction, its requests and its tools."""
    common: Said = {
        "session.id": task.session,
        "user.id": task.user,
        "terminal.type": "xterm",
    }
    root = task.root
    said = {
        **common,
        "span.type": "interaction",
        "interaction.sequence": 1,
        "interaction.duration_ms": (root.end_ns - root.start_ns) // NS_PER_MS,
        "taximeter.task_type": task.task_type,
    }
    span = telling.span("claude_code.interaction", None, (root.start_ns, root.end_ns), said)
    for number, step in enumerate(root.steps):
        mark = f"{task.session}-{number}"
        if isinstance(step, Call):
            _request(step, mark, common, span, telling)
        elif isinstance(step, Tool):
            _tool(step, mark, common, span, telling)


def _request(call: Call, mark: str, common: Attributes, within: Span, telling: Telling) -> None:
    stop = "max_tokens" if call.is_cut else _ANSWER_STOPS[bool(call.asks)]
    said: Said = {
        **common,
        "span.type": "llm_request",
        "model": call.model.name,
        "gen_ai.system": call.model.provider,
        "gen_ai.request.model": call.model.name,
        "query_source": "main",
        # Its input counts neither what was read from the cache nor what was written to it.
        "input_tokens": call.input_tokens - call.cache_read_tokens - call.cache_write_tokens,
        "output_tokens": call.output_tokens,
        "cache_read_tokens": call.cache_read_tokens,
        "cache_creation_tokens": call.cache_write_tokens,
        "ttft_ms": (call.answer_ns - call.start_ns + call.ttft_ns) // NS_PER_MS,
        "duration_ms": (call.end_ns - call.start_ns) // NS_PER_MS,
        "attempt": len(call.failures) + 1,
        "success": True,
        "stop_reason": stop,
        "gen_ai.response.finish_reasons": (stop,),
        "request_id": f"req-{mark}",
        "gen_ai.response.id": f"req-{mark}",
    }
    span = telling.span("claude_code.llm_request", within, (call.start_ns, call.end_ns), said)
    for number, failure in enumerate(call.failures):
        event: Said = {"attempt": number + 1, "error": failure.error, "status_code": 529}
        span.add_event("gen_ai.request.attempt", event, telling.start_ns + failure.end_ns)
    span.add_event(
        "gen_ai.request.attempt", {"attempt": len(call.failures) + 1}, telling.start_ns + call.end_ns
    )


def _tool(tool: Tool, mark: str, common: Attributes, within: Span, telling: Telling) -> None:
    said: Said = {
        **common,
        "span.type": "tool",
        "tool_name": tool.name,
        "tool_use_id": f"toolu-{mark}",
        "gen_ai.tool.call.id": f"toolu-{mark}",
        "duration_ms": (tool.end_ns - tool.start_ns) // NS_PER_MS,
        "result_tokens": tool.result_tokens,
    }
    span = telling.span("claude_code.tool", within, (tool.start_ns, tool.end_ns), said)
    if tool.work_ns > tool.start_ns:
        waited = (tool.start_ns, tool.work_ns)
        asked: Said = {
            **common,
            "span.type": "tool.blocked_on_user",
            "decision": "accept",
            "duration_ms": (tool.work_ns - tool.start_ns) // NS_PER_MS,
        }
        telling.span("claude_code.tool.blocked_on_user", span, waited, asked)
    worked: Said = {
        **common,
        "span.type": "tool.execution",
        "success": not tool.error,
        "duration_ms": (tool.end_ns - tool.work_ns) // NS_PER_MS,
    }
    telling.span("claude_code.tool.execution", span, (tool.work_ns, tool.end_ns), worked)
