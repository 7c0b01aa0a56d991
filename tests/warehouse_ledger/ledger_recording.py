"""Reads recorded coding-agent sessions (one local GPU, tasks one after another) as steps."""

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ledger_world import FOREVER, Fleet, Step, World

from taximeter.clock import to_ns

DEPLOYMENT = "glm"


def read(folder: Path) -> World:
    """Read every session of a folder; the one GPU is declared, held from first line to last at $1 an hour."""
    sessions = [list(_lines(path)) for path in sorted(folder.glob("*/trace.jsonl.gz"))]
    times = [at for lines in sessions for at, _ in lines]
    fleet = Fleet(DEPLOYMENT, cards=1, held=[(min(times), max(times))], prices=[(0, FOREVER, 1_000_000)])
    steps = [step for number, lines in enumerate(sessions) for step in _steps(f"task{number:03d}", lines)]
    return World(now=max(times) + 3_600_000_000_000, fleets=[fleet], steps=steps)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    talk = [line for line in lines if line.get("type") in {"user", "assistant"}]
    # ten lines in nine files are out of time order
    yield from sorted(((_at(line), line) for line in talk), key=lambda pair: pair[0])


def _at(line: dict[str, Any]) -> int:
    return to_ns(datetime.fromisoformat(line["timestamp"]))


def _steps(task: str, lines: list[tuple[int, dict[str, Any]]]) -> Iterator[Step]:
    calls: dict[str, tuple[int, int]] = {}
    tools: dict[str, tuple[int, str]] = {}
    before = lines[0][0]
    for at, line in lines:
        message = line["message"]
        if line["type"] == "assistant" and message.get("model") != "<synthetic>":
            start, _ = calls.get(message["id"], (before, at))
            calls[message["id"]] = (start, at)
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "tool_use":
                tools[part["id"]] = (at, part["name"])
            elif part["type"] == "tool_result" and part["tool_use_id"] in tools:
                start, name = tools.pop(part["tool_use_id"])
                yield Step(task, f"{task}-{part['tool_use_id']}", "tool", start, at, tool=name)
        before = at
    for name, (start, end) in calls.items():
        yield Step(task, f"{task}-{name}", "llm", start, end, DEPLOYMENT, busy=(start, end))


__all__ = ["DEPLOYMENT", "read"]
