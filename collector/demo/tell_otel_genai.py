"""Tells a task in the OpenTelemetry GenAI conventions, as their current generation writes them."""

import json
from functools import cache

from opentelemetry.trace import Span, SpanKind

from collector.demo.plan import Agent, Call, Failure, Task, Tool
from collector.demo.story import Fleet, story
from collector.demo.telling import Said, Telling, own_calls, tries


def tell(task: Task, telling: Telling) -> None:
    """Start the spans of a task: agents with the sum of their calls, calls with their tries, tools."""
    _agent(task, task.root, None, telling)


def _agent(task: Task, agent: Agent, within: Span | None, telling: Telling) -> None:
    calls = own_calls(agent)
    said: Said = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent.name,
        "gen_ai.conversation.id": task.session,
        "gen_ai.request.model": calls[0].model.name,
        "gen_ai.usage.input_tokens": sum(call.input_tokens for call in calls),
        "gen_ai.usage.output_tokens": sum(call.output_tokens for call in calls),
        "taximeter.task_type": task.task_type,
        "user.id": task.user,
    }
    span = telling.span(f"invoke_agent {agent.name}", within, (agent.start_ns, agent.end_ns), said)
    for step in agent.steps:
        if isinstance(step, Call):
            for attempt in tries(step):
                _attempt(task, step, attempt, span, telling)
        elif isinstance(step, Tool):
            _tool(task, step, span, telling)
        else:
            _agent(task, step, span, telling)


def _attempt(task: Task, call: Call, attempt: Call | Failure, within: Span, telling: Telling) -> None:
    said: Said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.model.provider,
        "gen_ai.request.model": call.model.name,
        "gen_ai.conversation.id": task.session,
        "gen_ai.request.stream": True,
        "gen_ai.tool.definitions": _definitions(tuple(task.agent.tools)),
        **_server(call),
    }
    if isinstance(attempt, Failure):
        said["error.type"] = attempt.error
        times = (attempt.start_ns, attempt.end_ns)
        error = f"status {attempt.error}"
    else:
        said |= _answer(call)
        times = (call.answer_ns, call.end_ns)
        error = None
    telling.span(f"chat {call.model.name}", within, times, said, kind=SpanKind.CLIENT, error=error)


def _answer(call: Call) -> Said:
    finish = "tool_calls" if call.asks else ("length" if call.is_cut else "stop")
    said: Said = {
        "gen_ai.response.model": call.model.name,
        "gen_ai.usage.input_tokens": call.input_tokens,
        "gen_ai.usage.output_tokens": call.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.cache_read_tokens,
        "gen_ai.response.finish_reasons": (finish,),
        "gen_ai.response.time_to_first_chunk": call.ttft_ns / 1e9,
    }
    if call.model.reasoning:
        said["gen_ai.usage.reasoning.output_tokens"] = call.reasoning_tokens
    if call.replica is not None:
        said["taximeter.replica"] = str(call.replica)
    return said


def _tool(task: Task, tool: Tool, within: Span, telling: Telling) -> None:
    said: Said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": task.session,
        "gen_ai.tool.call.arguments": tool.arguments,
    }
    if tool.error:
        said["error.type"] = tool.error
    else:
        said["gen_ai.tool.call.result"] = tool.result
    times = (tool.start_ns, tool.end_ns)
    telling.span(f"execute_tool {tool.name}", within, times, said, error=tool.error)


def _server(call: Call) -> Said:
    """Name the server: our own by its address, which is how its deployment is found."""
    fleet = _fleets().get(call.model.deployment or "")
    if fleet is None or fleet.address is None:
        return {"server.address": f"api.{call.model.provider}.com", "server.port": 443}
    host, _, port = fleet.address.partition(":")
    return {"server.address": host, "server.port": int(port)}


@cache
def _fleets() -> dict[str, Fleet]:
    return {fleet.deployment: fleet for fleet in story().fleet}


@cache
def _definitions(tools: tuple[str, ...]) -> str:
    about = {"about": {"type": "string", "description": "what to work on: a path, a query or an id"}}
    parameters = {"type": "object", "properties": about, "required": ["about"]}
    return json.dumps([{"type": "function", "name": name, "parameters": parameters} for name in tools])
