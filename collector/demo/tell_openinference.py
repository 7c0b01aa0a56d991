"""Tells a task in OpenInference, as its instrumentation of an agents library writes it."""

from opentelemetry.trace import Span

from collector.demo.plan import Agent, Call, Failure, Task, Tool
from collector.demo.telling import Said, Telling, own_gpu, tries

_KIND = "openinference.span.kind"


def tell(task: Task, telling: Telling) -> None:
    """Start the spans of a task: agents within agents, calls with their tries, tools."""
    _agent(task, task.root, None, telling)


def _agent(task: Task, agent: Agent, within: Span | None, telling: Telling) -> None:
    said: Said = {
        _KIND: "AGENT",
        "agent.name": agent.name,
        "graph.node.id": agent.name,
        "session.id": task.session,
        "user.id": task.user,
        "taximeter.task_type": task.task_type,
    }
    span = telling.span(agent.name, within, (agent.start_ns, agent.end_ns), said, ok=True)
    for step in agent.steps:
        if isinstance(step, Call):
            for attempt in tries(step):
                _attempt(step, attempt, span, telling)
        elif isinstance(step, Tool):
            _tool(step, span, telling)
        else:
            _agent(task, step, span, telling)


def _attempt(call: Call, attempt: Call | Failure, within: Span, telling: Telling) -> None:
    said: Said = {
        _KIND: "LLM",
        "llm.system": call.model.provider,
        "llm.provider": call.model.provider,
        "llm.model_name": call.model.name,
        "llm.invocation_parameters": '{"temperature":0.2}',
        **own_gpu(call),
    }
    if isinstance(attempt, Failure):
        text = f"{attempt.error}: try again later"
        span = telling.span("response", within, (attempt.start_ns, attempt.end_ns), said, error=text)
        event = {"exception.type": attempt.error, "exception.message": "try again later"}
        span.add_event("exception", event, telling.start_ns + attempt.end_ns)
        return
    said |= _answer(call)
    telling.span("response", within, (call.answer_ns, call.end_ns), said, ok=True)


def _answer(call: Call) -> Said:
    said: Said = {
        "llm.token_count.prompt": call.input_tokens,
        "llm.token_count.completion": call.output_tokens,
        "llm.token_count.total": call.input_tokens + call.output_tokens,
        "llm.token_count.prompt_details.cache_read": call.cache_read_tokens,
        "llm.output_messages.0.message.role": "assistant",
        "llm.finish_reason": "tool_calls" if call.asks else ("length" if call.is_cut else "stop"),
    }
    if call.model.reasoning:
        said["llm.token_count.completion_details.reasoning"] = call.reasoning_tokens
    for number, tool in enumerate(call.asks):
        asked = f"llm.output_messages.0.message.tool_calls.{number}.tool_call"
        said[f"{asked}.function.name"] = tool.name
        said[f"{asked}.function.arguments"] = tool.arguments
    return said


def _tool(tool: Tool, within: Span, telling: Telling) -> None:
    said: Said = {
        _KIND: "TOOL",
        "tool.name": tool.name,
        "input.value": tool.arguments,
        "input.mime_type": "application/json",
    }
    if not tool.error:
        said["output.value"] = tool.result
    span = telling.span(
        tool.name, within, (tool.start_ns, tool.end_ns), said, error=tool.error, ok=not tool.error
    )
    if tool.error:
        event = {"exception.type": tool.error, "exception.message": "took too long"}
        span.add_event("exception", event, telling.start_ns + tool.end_ns)
