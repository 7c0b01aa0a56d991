"""The lines of a Claude Code session log, read into threads, calls and tool uses.

Traps: one API call is a line per content block, each with the call's usage, which may grow from line to line;
lines of parallel work are not in the order of their times; a resumed session repeats lines of the one before.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from collector.formats.documents import Document
from collector.formats.made import instant_ns
from collector.formats.parts import Bad

MAIN = ""
_SYNTHETIC = "<synthetic>"
_USAGE = (
    ("input_tokens",),
    ("cache_read_input_tokens",),
    ("cache_creation_input_tokens",),
    ("cache_creation", "ephemeral_1h_input_tokens"),
    ("output_tokens",),
)
_LONGEST_TOKEN_CHARS = 16  # of running text no tokenizer reaches this in the mean
# What the program itself writes as the person: it starts no task.
_NOT_PROMPTS = ("<local-command-", "[Request interrupted", "<task-notification>")


class Line(NamedTuple):
    """One message line; `thread` is MAIN or names a sub-agent."""

    at_ns: int
    thread: str
    raw: Mapping[str, Any]

    @property
    def is_answer(self) -> bool:
        """Whether the model's side wrote it."""
        return bool(self.raw["type"] == "assistant")

    @property
    def message(self) -> Mapping[str, Any]:
        """The message of the API."""
        return self.raw["message"]  # type: ignore[no-any-return]

    @property
    def blocks(self) -> list[Mapping[str, Any]]:
        """The content blocks; a bare text is none."""
        content = self.message.get("content")
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


@dataclass
class Call:
    """One API call: all lines of one message id."""

    id: str
    thread: str
    start_ns: int
    end_ns: int
    lines: list[Line] = field(default_factory=list)

    def usage(self) -> dict[str, Any]:
        """The call's usage: of each figure the largest that a line tells; what is no number stays as told."""
        return {".".join(path): told for path in _USAGE if (told := self._largest(path)) is not None}

    def last(self, key: str) -> Any:
        """The last value that a line's message has under a key."""
        return next((line.message[key] for line in reversed(self.lines) if line.message.get(key)), None)

    def content(self) -> list[Mapping[str, Any]]:
        """Every content block once, in order."""
        blocks: list[Mapping[str, Any]] = []
        for line in self.lines:
            blocks += [block for block in line.blocks if block not in blocks]
        return blocks

    def is_first_chunk(self) -> bool:
        """Whether the output figure is of a stream's beginning: no end was logged, and the text is longer."""
        told = self._largest(("output_tokens",))
        if not isinstance(told, int) or self.last("stop_reason"):
            return False
        written = sum(len(str(block.get("text") or block.get("input") or "")) for block in self.content())
        return written > told * _LONGEST_TOKEN_CHARS

    def _largest(self, path: tuple[str, ...]) -> Any:
        told = [value for line in self.lines if (value := _at(line.message.get("usage"), path)) is not None]
        numbers = [value for value in told if isinstance(value, int | float) and not isinstance(value, bool)]
        return max(numbers) if numbers else next(iter(told), None)


@dataclass
class ToolUse:
    """One use of a tool, from the line that asks for it to the line with its result."""

    call: Call
    asked: Line
    block: Mapping[str, Any]
    answered: Line | None = None
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id that the result refers to."""
        return str(self.block.get("id"))


def read_lines(documents: Iterable[Document | Bad]) -> tuple[list[Line], list[Bad]]:
    """Read the message lines in the order of their times (lines of one time stay in theirs), each once."""
    found: dict[str, Line] = {}
    bad: list[Bad] = []
    rows = [document for document in documents if not _take_bad(document, bad)]
    parents = {row.value.get("uuid"): row.value for row in rows if isinstance(row, Document)}
    for row in rows:
        if isinstance(row, Document) and is_message(row.value):
            try:
                line = Line(instant_ns(row.value["timestamp"]), _thread(row.value, parents), row.value)
            except (ValueError, KeyError, OverflowError):
                bad.append(Bad(row.where, "a message without a time"))
            else:
                found.setdefault(str(row.value.get("uuid") or row.where), line)
    return sorted(found.values(), key=lambda line: line.at_ns), bad


def _take_bad(found: Document | Bad, bad: list[Bad]) -> bool:
    if isinstance(found, Bad):
        bad.append(found)
    return isinstance(found, Bad)


def is_message(value: Mapping[str, Any]) -> bool:
    """Tell a line that holds a message from the log's other lines."""
    return value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict)


def is_prompt(line: Line) -> bool:
    """Tell whether a line is what a person asked: it starts a task."""
    raw = line.raw
    if line.is_answer or line.thread != MAIN or raw.get("isMeta") or raw.get("isCompactSummary"):
        return False
    if any(block.get("type") == "tool_result" for block in line.blocks):
        return False
    return not first_text(line).startswith(_NOT_PROMPTS)


def first_text(line: Line) -> str:
    """The first text of a message, empty if it has none."""
    content = line.message.get("content")
    if isinstance(content, str):
        return content
    return next((str(block.get("text")) for block in line.blocks if block.get("type") == "text"), "")


def read_calls(lines: Iterable[Line]) -> list[Call]:
    """Gather the calls of one thread: from the line before the first of an id to the last of it."""
    calls: dict[str, Call] = {}
    before_ns = None
    for line in lines:
        if line.is_answer and line.message.get("model") != _SYNTHETIC:
            id_ = str(line.message.get("id") or line.raw.get("uuid"))
            start_ns = line.at_ns if before_ns is None else before_ns
            call = calls.setdefault(id_, Call(id_, line.thread, start_ns, line.at_ns))
            call.end_ns = line.at_ns
            call.lines.append(line)
        before_ns = line.at_ns
    return list(calls.values())


def read_tools(lines: Iterable[Line], calls: Iterable[Call]) -> list[ToolUse]:
    """Pair the tool uses of one thread with their results."""
    results = [(line, block) for line in lines for block in line.blocks if block.get("type") == "tool_result"]
    tools = list(_asked(calls))
    waiting: dict[str, list[ToolUse]] = {}
    for tool in tools:
        waiting.setdefault(tool.id, []).append(tool)
    for line, block in results:
        uses = waiting.get(str(block.get("tool_use_id")))
        if uses and uses[0].asked.at_ns <= line.at_ns:
            tool = uses.pop(0)
            tool.answered, tool.result = line, block
    return tools


def _asked(calls: Iterable[Call]) -> Iterator[ToolUse]:
    for call in calls:
        seen = set()
        for line in call.lines:
            for block in line.blocks:
                if block.get("type") == "tool_use" and block.get("id") not in seen:
                    seen.add(block.get("id"))
                    yield ToolUse(call, line, block)


def _thread(raw: Mapping[str, Any], parents: Mapping[Any, Mapping[str, Any]]) -> str:
    """Name the thread of a line: a sub-agent's id, or the first line of its side chain."""
    if not raw.get("isSidechain"):
        return MAIN
    if raw.get("agentId"):
        return str(raw["agentId"])
    seen = set()
    while (parent := parents.get(raw.get("parentUuid"))) and parent.get("isSidechain"):
        if parent.get("uuid") in seen:
            break
        seen.add(parent.get("uuid"))
        raw = parent
    return str(raw.get("uuid"))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
