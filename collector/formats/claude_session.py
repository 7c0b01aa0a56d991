"""Claude Code session logs: every prompt becomes a trace, every API call and tool use a span of it.

The log is held in memory: its lines are not in the order of their times, and a task may end in its last one.
Output tokens are what the log says. Claude Code wrote the first chunk's figure there for some models, which
a note tells where the text of the answers proves it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from collector.formats.documents import Document
from collector.formats.made import Made, Source, drain, span_id_of, to_requests, trace_id_of
from collector.formats.parts import Bad, Note, Part
from collector.formats.session_lines import (
    MAIN,
    Call,
    Line,
    ToolUse,
    first_text,
    is_prompt,
    read_calls,
    read_lines,
    read_tools,
)

_SOURCE = Source("claude-code", "taximeter.import.claude_code_session")
_KEYS = {"sessionId", "isSidechain", "uuid", "message", "timestamp"}
_SUB_AGENT_TOOLS = ("Task", "Agent")


def is_claude_session(seen: Mapping[str, Any]) -> bool:
    """Tell by the keys of its lines whether a file is a session log."""
    return seen.keys() >= _KEYS


def read_claude_session(documents: Iterable[Document | Bad]) -> Iterator[Part | Bad | Note]:
    """Turn a session log into requests; lines that are no messages are passed over.

    Raises:
        BadInputError, OSError, EOFError, zstandard.ZstdError: the log is cut; what came before is handed on.
    """
    found = drain(documents)
    lines, bad = read_lines(found.items)
    yield from bad
    log = _read(lines)
    yield from to_requests(_SOURCE, _spans(log))
    yield from _notes(log)
    if found.error:
        raise found.error


def _notes(log: "_Log") -> Iterator[Note]:
    calls = [call for own in log.calls.values() for call in own]
    first_chunks = sum(call.is_first_chunk() for call in calls)
    if first_chunks:
        yield Note(
            f"the log holds only the first chunk's output tokens of {first_chunks} of {len(calls)} calls: "
            "their output, and what it cost, is more than these figures say"
        )


class _Log(NamedTuple):
    threads: Mapping[str, list[Line]]
    calls: Mapping[str, list[Call]]
    tools: Mapping[str, list[ToolUse]]


@dataclass
class _Task:
    """One prompt and what was done for it; `lines` are those of its main thread."""

    lines: list[Line]
    threads: list[str] = field(default_factory=list)


def _read(lines: list[Line]) -> _Log:
    threads: dict[str, list[Line]] = {}
    for line in lines:
        threads.setdefault(line.thread, []).append(line)
    calls = {thread: read_calls(own) for thread, own in threads.items()}
    tools = {thread: read_tools(own, calls[thread]) for thread, own in threads.items()}
    return _Log(threads, calls, tools)


def _spans(log: _Log) -> Iterator[Made]:
    starters = _starters(log)
    tasks = _tasks(log.threads.get(MAIN, []))
    for thread in starters:
        _task_of(thread, log, starters, tasks).threads.append(thread)
    for task in tasks:
        yield from _task_spans(task, log, starters)


def _tasks(lines: list[Line]) -> list[_Task]:
    """Cut the main thread at its prompts; a log that begins in the middle begins with a task of its own."""
    tasks: list[_Task] = []
    for line in lines:
        if not tasks or is_prompt(line):
            tasks.append(_Task([]))
        tasks[-1].lines.append(line)
    return tasks


def _starters(log: _Log) -> dict[str, ToolUse | None]:
    """Find for each sub-agent the tool use that started it; no use starts two."""
    found: dict[str, ToolUse | None] = {}
    left = [tool for own in log.tools.values() for tool in own if tool.block.get("name") in _SUB_AGENT_TOOLS]
    for thread in log.threads:
        if thread != MAIN:
            starter = found[thread] = _starter(log.threads[thread][0], left)
            left = [tool for tool in left if tool is not starter]
    return found


def _starter(first: Line, uses: list[ToolUse]) -> ToolUse | None:
    """Choose by the agent's id, else by its prompt, else the only use that ran when the agent began."""
    uses = [tool for tool in uses if tool.call.thread != first.thread]
    prompt = first_text(first)
    running = [tool for tool in uses if _ran_at(tool, first.at_ns)]
    by_id = [tool for tool in uses if tool.answered and _agent_id(tool.answered) == first.thread]
    by_prompt = [tool for tool in uses if prompt and _input(tool).get("prompt") == prompt]
    told = by_id or [tool for tool in by_prompt if tool in running] or by_prompt
    if told:
        return told[0]
    return running[0] if len(running) == 1 else None


def _agent_id(line: Line) -> Any:
    result = line.raw.get("toolUseResult")
    return result.get("agentId") if isinstance(result, dict) else None


def _input(tool: ToolUse) -> Mapping[str, Any]:
    held = tool.block.get("input")
    return held if isinstance(held, dict) else {}


def _ran_at(tool: ToolUse, at_ns: int) -> bool:
    return tool.asked.at_ns <= at_ns and (tool.answered is None or at_ns <= tool.answered.at_ns)


def _task_of(thread: str, log: _Log, starters: Mapping[str, ToolUse | None], tasks: list[_Task]) -> _Task:
    """Find the task that a sub-agent works for; one whose session lies in another file is its own."""
    at_ns = log.threads[thread][0].at_ns
    seen = {thread}
    while (tool := starters.get(thread)) and tool.call.thread not in seen:
        thread, at_ns = tool.call.thread, tool.asked.at_ns
        seen.add(thread)
    before = [task for task in tasks if task.lines and task.lines[0].at_ns <= at_ns]
    if before:
        return before[-1]
    tasks.append(_Task([]))
    return tasks[-1]


class _Place(NamedTuple):
    """Where the spans of a thread hang."""

    trace_id: bytes
    parent_id: bytes


def _task_spans(task: _Task, log: _Log, starters: Mapping[str, ToolUse | None]) -> Iterator[Made]:
    own = {id(line) for line in task.lines}
    calls = [call for call in log.calls.get(MAIN, []) if id(call.lines[0]) in own]
    side_calls = [call for thread in task.threads for call in log.calls[thread]]
    if not calls and not side_calls:
        return
    key = (calls or side_calls)[0].id
    trace_id = trace_id_of(_SOURCE.scope, key)
    root_id = span_id_of("agent", key) if task.lines else b""
    if task.lines:
        ends = [line.at_ns for thread in task.threads for line in log.threads[thread]]
        yield _agent_span(_Place(trace_id, b""), key, task.lines, "claude-code", ends)
    for call in calls:
        yield _call_span(_Place(trace_id, root_id), call)
    for tool in log.tools.get(MAIN, []):
        if id(tool.call.lines[0]) in own:
            yield _tool_span(_Place(trace_id, root_id), tool)
    for thread in task.threads:
        yield from _thread_spans(_Place(trace_id, root_id), thread, log, starters[thread])


def _thread_spans(place: _Place, thread: str, log: _Log, starter: ToolUse | None) -> Iterator[Made]:
    """A sub-agent: an agent span below the tool use that started it, its calls and tools below that."""
    calls = log.calls[thread]
    if not calls:
        return
    if starter:
        place = place._replace(parent_id=_tool_span_id(starter))
        name = _input(starter).get("subagent_type")
    else:
        name = None
    key = calls[0].id
    yield _agent_span(place, key, log.threads[thread], str(name or "sub-agent"), [])
    below = place._replace(parent_id=span_id_of("agent", key))
    yield from (_call_span(below, call) for call in calls)
    yield from (_tool_span(below, tool) for tool in log.tools[thread])


def _agent_span(place: _Place, key: str, lines: list[Line], name: str, ends: list[int]) -> Made:
    first = lines[0]
    attributes = {
        "record": "agent",
        "agent.name": name,
        "prompt": None if first.is_answer else first.message.get("content"),
        **_session(first),
    }
    end_ns = max([lines[-1].at_ns, *ends])
    return Made(
        place.trace_id, span_id_of("agent", key), place.parent_id, name, first.at_ns, end_ns, attributes
    )


def _call_span(place: _Place, call: Call) -> Made:
    model = call.last("model")
    failed = any(line.raw.get("isApiErrorMessage") for line in call.lines)
    costs = [cost for line in call.lines if isinstance(cost := line.raw.get("costUSD"), int | float)]
    attributes = {
        "record": "call",
        "message.id": call.id,
        "message.model": model,
        **{f"message.usage.{name}": value for name, value in call.usage().items()},
        "message.stop_reason": call.last("stop_reason"),
        "message.content": call.content() or call.last("content"),
        "costUSD": max(costs, default=None),
        "error_type": "api_error" if failed else None,
        **_session(call.lines[0]),
    }
    return Made(
        trace_id=place.trace_id,
        span_id=span_id_of("call", call.id),
        parent_id=place.parent_id,
        name=f"call {model}",
        start_ns=call.start_ns,
        end_ns=call.end_ns,
        attributes=attributes,
        failed=failed,
    )


def _tool_span_id(tool: ToolUse) -> bytes:
    return span_id_of("tool", tool.call.id, tool.id)


def _tool_span(place: _Place, tool: ToolUse) -> Made:
    """A tool use; one without a result was cut off, how late nobody knows, and has no length."""
    failed = tool.answered is None or bool(tool.result.get("is_error"))
    attributes = {
        "record": "tool",
        "tool_use.name": tool.block.get("name"),
        "tool_use.id": tool.id,
        "tool_use.input": tool.block.get("input"),
        "tool_result.content": tool.result.get("content"),
        "error_type": None if not failed else "is_error" if tool.answered else "no_result",
        **_session(tool.asked),
    }
    return Made(
        trace_id=place.trace_id,
        span_id=_tool_span_id(tool),
        parent_id=place.parent_id,
        name=f"tool {tool.block.get('name')}",
        start_ns=tool.asked.at_ns,
        end_ns=tool.answered.at_ns if tool.answered else tool.asked.at_ns,
        attributes=attributes,
        failed=failed,
    )


def _session(line: Line) -> dict[str, Any]:
    return {
        "sessionId": line.raw.get("sessionId"),
        "agentId": line.raw.get("agentId"),
        "promptId": line.raw.get("promptId"),
    }
