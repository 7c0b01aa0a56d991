"""The report `explain` as an indented tree, in words that need no manual."""

import json
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from taximeter import units

Row = Mapping[str, Any]

_WORDS = Path(__file__).with_name("explain_words.toml")
_FIGURES = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "reasoning_tokens",
    "total_tokens",
)
_ADDED_FLAGS = {"cache_added", "reasoning_added"}
_PER_MILLION = 1_000_000
_INDENT = "  "
_EPOCH_YEAR = 1970
_NOBODY = "unknown"


def write_tasks(tasks: Iterable[Row], spans: Iterable[Row]) -> str:
    """Write one block per task: what it came to, then its spans, each below the one that started it.

    Args:
        tasks: rows of the report `tasks`; a task of the spans that is none of them has no headline figures.
        spans: rows of the report `explain`, in its order.
    """
    known = {task["task_id"]: task for task in tasks}
    by_task: dict[str, list[Row]] = {}
    for span in spans:
        by_task.setdefault(span["task_id"], []).append(span)
    blocks = [
        "\n".join([*_headline(task_id, known.get(task_id)), *_tree(rows)])
        for task_id, rows in by_task.items()
    ]
    return "\n\n".join(blocks) + "\n"


def _headline(task_id: str, task: Row | None) -> Iterator[str]:
    if task is None:
        yield f"trace {task_id}: no agent work in it, so it is no task"
        return
    yield f"task {task_id}  {_clean(task['name'])}  ({task['status']})"
    calls = "calls unknown" if task["llm_calls"] is None else f"{task['llm_calls']} model calls"
    figures = [
        calls,
        f"{task['tool_calls']} tool calls",
        f"{units.count(task['total_tokens'])} tokens",
        f"cost {units.usd(task['total_cost_usd'])}",
    ]
    if task["unexplained_tokens"]:
        figures.append(
            f"{units.count(task['unexplained_tokens'])} more tokens are unclassified: a total tells of them, "
            "no part does; they are in no sum and no price"
        )
    yield ", ".join(figures)


def _tree(rows: Sequence[Row]) -> Iterator[str]:
    """Write every span once, also where parents are missing or go round in a circle."""
    owner = {(row["trace_id"], row["span_id"]): row["step_id"] for row in reversed(rows)}
    above = {row["step_id"]: owner.get((row["trace_id"], row["parent_span_id"])) for row in rows}
    below: dict[str, list[Row]] = {}
    for row in rows:
        if (parent := above[row["step_id"]]) is not None:
            below.setdefault(parent, []).append(row)
    tops = [row for row in rows if above[row["step_id"]] is None]
    written: set[str] = set()
    for top in [*tops, *rows]:
        waiting = [(top, 0)]
        while waiting:
            row, depth = waiting.pop()
            if row["step_id"] in written:
                continue
            written.add(row["step_id"])
            is_orphan = row["parent_span_id"] is not None and above[row["step_id"]] is None
            yield from _span(row, depth, is_orphan=is_orphan)
            waiting += [(child, depth + 1) for child in reversed(below.get(row["step_id"], []))]


def _span(row: Row, depth: int, *, is_orphan: bool) -> Iterator[str]:
    role = row["role"] if row["kind"] in {None, row["role"]} else f"{row['role']}, acts as {row['kind']}"
    reader = "no dialect knows it" if row["dialect"] == _NOBODY else f"read by {row['dialect']}"
    about = [role, reader, units.duration(row["duration_s"])]
    if row["status"] == "error":
        about.append("failed")
    yield f"{_INDENT * depth}- {_clean(row['name'])} [{' · '.join(about)}]"
    lines = [_verdict(row), *_figures(row), *_basis(row), *_money(row), *_notes(row, is_orphan=is_orphan)]
    for line in lines:
        yield f"{_INDENT * (depth + 2)}{line}"


def _verdict(row: Row) -> str:
    return str(_words()["verdicts"].get(row["verdict"], row["why"] or row["verdict"]))


def _figures(row: Row) -> Iterator[str]:
    """Say which attribute gave each figure; one that only another view tells is said to be from there."""
    sources = json.loads(row["sources"] or "{}")
    for field in _FIGURES:
        told = row[f"told_{field}"]
        if told is not None:
            key = sources.get(field)
            yield f"{field} {units.count(told)}" + (f" from {_clean(key)}" if key else "")
        elif row.get(field) is not None and row["counted"]:
            yield _say("notes", "filled", field=field, count=units.count(row[field]))


def _basis(row: Row) -> Iterator[str]:
    if row["told_input_tokens"] is not None and _has_cache(row):
        flags = row["flags"] or ()
        basis = _words()["inclusivity"].get(row["inclusivity"], row["inclusivity"])
        if row["told_input_high_tokens"] is not None:
            meaning = _say("input", "open", high=units.count(row["told_input_high_tokens"]))
        else:
            meaning = _words()["input"]["added" if "cache_added" in flags else "inside"]
        yield f"{meaning} ({basis})"
    if "reasoning_added" in (row["flags"] or ()):
        yield _words()["input"]["reasoning"]


def _has_cache(row: Row) -> bool:
    return bool(row["told_cache_read_tokens"] or row["told_cache_write_tokens"])


def _money(row: Row) -> Iterator[str]:
    if row["counted"] and row["paid_by"] == "gpu":
        yield _gpu_money(row)
    elif row["counted"] and row["paid_by"] == "tokens":
        yield from _token_money(row)
    if row["told_cost_usd"] is not None:
        yield _say("money", "reported", usd=units.usd(row["told_cost_usd"]))


def _gpu_money(row: Row) -> str:
    if row["gpu_cost_usd"] is None:
        return _say("money", "gpu_unknown", deployment=row["deployment"])
    return _say(
        "money",
        "gpu",
        usd=units.usd(row["gpu_cost_usd"]),
        seconds=f"{row['gpu_s']:.1f}",
        deployment=row["deployment"],
    )


def _token_money(row: Row) -> Iterator[str]:
    if row["parts"] is None or row["token_cost_usd"] is None:
        yield _without_price(row)
        return
    yield _say(
        "money",
        "row",
        price=row["priced_as"],
        tier=_tier(row["tier_from_tokens"], row["tier_to_tokens"]),
        since=_since(row),
        source=row["price_source"],
    )
    paid = [part for part in row["parts"] if part["tokens"]]
    terms = [
        f"{units.count(part['tokens'])} {_words()['parts'][part['part']]} × ${_per_million(part)}"
        for part in paid
    ]
    if terms:
        yield f"{' + '.join(terms)} per million = {units.usd(row['token_cost_usd'])}"
    else:
        yield _say("money", "free")
    if row["token_cost_low_usd"] != row["token_cost_high_usd"]:
        low, high = units.usd(row["token_cost_low_usd"]), units.usd(row["token_cost_high_usd"])
        yield _say("money", "range", low=low, high=high)


def _without_price(row: Row) -> str:
    if row["token_cost_usd"] is not None:
        return _say("money", "free")
    if row["input_tokens"] is not None and row["output_tokens"] is not None:
        return _say("money", "unpriced", model=_clean(row["model"]))
    return _say("money", "unknown")


def _per_million(part: Row) -> str:
    price = part["usd_per_token"] * _PER_MILLION
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _tier(above: int, upto: int | None) -> str:
    if upto is None:
        return _say("tiers", "above", above=units.count(above)) if above else ""
    key = "between" if above else "upto"
    return _say("tiers", key, above=units.count(above), upto=units.count(upto))


def _since(row: Row) -> str:
    """Leave out a row that holds since the beginning of time."""
    from_at = row["price_from_at"]
    return _say("tiers", "since", date=f"{from_at:%Y-%m-%d}") if from_at.year > _EPOCH_YEAR else ""


def _notes(row: Row, *, is_orphan: bool) -> Iterator[str]:
    if row["versions"] > 1:
        yield _say("notes", "versions", count=row["versions"])
    if (row["attempts"] or 1) > 1:
        yield _say("notes", "attempts", count=row["attempts"])
    if row["skew_s"] is not None:
        yield _say("notes", "skew", seconds=units.duration(row["skew_s"]))
    if is_orphan:
        yield _words()["notes"]["orphan"]
    if row["simulated"]:
        yield _words()["notes"]["simulated"]
    yield from _flags(row)


def _flags(row: Row) -> Iterator[str]:
    for flag in row["flags"] or ():
        if flag not in _ADDED_FLAGS:
            yield _words()["flags"].get(flag, flag)
    for refused in row["refused"] or ():
        yield f"refused: {_clean(refused)}"


def _say(group: str, key: str, **values: object) -> str:
    return str(_words()[group][key]).format(**values)


def _clean(text: str | None) -> str:
    """Drop control characters: text of traces must not move the cursor or colour the terminal."""
    if text is None:
        return units.UNKNOWN
    return "".join(" " if unicodedata.category(sign).startswith("C") else sign for sign in text)


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(_WORDS.read_text(encoding="utf-8"))
