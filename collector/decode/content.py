"""What a span's content leaves behind: lengths, keyed hashes, the size of its tool definitions.

The text itself goes no further than this module, unless the user chose to keep it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from collector.decode.canonical import (
    Canonical,
    asks_for_tool,
    at_path,
    dumped,
    keyed_hash,
    parsed,
    shape,
    size_bytes,
)
from collector.decode.options import DecodeOptions
from collector.decode.wanted import Wanted
from collector.decode.wide import Seen, as_text
from collector.dialects.read import Dialect, Entry

_BYTES_PER_TOKEN = 4
_MESSAGE_LISTS = ("messages", "contents")
_INDEX = re.compile(r"(\d{1,6})(?:\.(.*))?")
_JSON = re.compile(r'\s*(\[\s*[\[{"]|\{\s*")')  # how JSON begins, and no other text
_MAY_BE_CUT = ("input", "output", "definitions")
_COLUMNS = {"input": "input", "output": "output", "arguments": "args", "result": "result"}
_HASHES = pl.List(pl.String)
SCHEMA: dict[str, pl.DataType] = {
    "@row": pl.UInt32(),
    "input_hash": pl.String(),
    "output_hash": pl.String(),
    "message_hashes": _HASHES,
    "message_bytes": pl.List(pl.Int64()),
    "input_bytes": pl.Int64(),
    "output_bytes": pl.Int64(),
    "args_hash": pl.String(),
    "args_shape_hash": pl.String(),
    "result_hash": pl.String(),
    "args_bytes": pl.Int64(),
    "result_bytes": pl.Int64(),
    "content_text": pl.String(),
    "tool_schema_tokens": pl.Int64(),
    "tool_schema_provenance": pl.String(),
    "@answer_asks": pl.Boolean(),
    "@cut": pl.Boolean(),
}


class _Event(NamedTuple):
    name: str
    attributes: dict[str, str]


class _Place(NamedTuple):
    kind: str  # key, prefix or events
    name: str
    path: str | None


class Held(NamedTuple):
    """What one span carries: attributes by key, and its content events in their order."""

    texts: dict[str, str]
    events: list[_Event]


def gather(seen: Seen, wanted: Wanted) -> dict[int, Held]:
    """Collect the content of every span that has any, by row number."""
    held: dict[int, Held] = {}
    _gather_texts(held, seen, wanted)
    _gather_events(held, seen, wanted)
    return held


def _gather_texts(held: dict[int, Held], seen: Seen, wanted: Wanted) -> None:
    prefixes = tuple(wanted.content_prefixes)
    keys = [key for key in seen.keys if key in wanted.content_keys or key.startswith(prefixes)]
    own = seen.flat.attributes.filter(pl.col("key").is_in(keys)) if keys else seen.flat.attributes.clear()
    of_events = seen.events.filter(pl.col("key").is_in(sorted(wanted.content_keys)))
    for attributes in (own, of_events):
        if not attributes.is_empty():
            for owner, key, text in as_text(attributes).select("owner", "key", "text").iter_rows():
                if text is not None:
                    held.setdefault(owner, Held({}, [])).texts.setdefault(key, text)


def _gather_events(held: dict[int, Held], seen: Seen, wanted: Wanted) -> None:
    if seen.events.is_empty():
        return
    events = seen.events.filter(pl.col("event_name").is_in(sorted(wanted.content_events)))
    columns = ("owner", "event", "event_name", "attribute", "text")
    last = None
    for owner, event, name, key, text in as_text(events).select(columns).iter_rows():
        of_span = held.setdefault(owner, Held({}, []))
        if event != last:
            of_span.events.append(_Event(name, {}))
            last = event
        if text is not None:
            of_span.events[-1].attributes.setdefault(key, text)


def digest(
    held: Mapping[int, Held],
    spans: Iterable[tuple[int, str, str]],
    dialects: Mapping[str, Dialect],
    options: DecodeOptions,
) -> pl.DataFrame:
    """Turn content into what may be kept; `spans` are (row, dialect, role)."""
    rows = [
        _digest(row, held[row], role, dialects[dialect], options)
        for row, dialect, role in spans
        if row in held
    ]
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in SCHEMA}, schema=SCHEMA)


def _digest(row: int, held: Held, role: str, dialect: Dialect, options: DecodeOptions) -> dict[str, Any]:
    key = options.content_key
    found = {part: one for part, places in _plan(dialect, role) if (one := _first(held, places))}
    kept: dict[str, Any] = {"@row": row, "@cut": any(_is_cut(found.get(part)) for part in _MAY_BE_CUT)}
    for part, content in found.items():
        name = _COLUMNS.get(part)
        if name:
            kept[f"{name}_hash"] = keyed_hash(key, content.text)
            kept[f"{name}_bytes"] = content.size_bytes
    _add_messages(kept, found.get("input"), key)
    if "arguments" in found:
        kept["args_shape_hash"] = keyed_hash(key, shape(found["arguments"].value))
    if "output" in found and not _is_cut(found["output"]):
        kept["@answer_asks"] = asks_for_tool(found["output"].value)
    _add_definitions(kept, found.get("definitions"))
    if options.capture_text:
        texts = {part: one.value for part, one in found.items() if part in _COLUMNS}
        kept["content_text"] = dumped(texts) if texts else None
    return kept


@cache
def _plan(dialect: Dialect, role: str) -> list[tuple[str, list[_Place]]]:
    """List for a role where each part of the content may stand, in order."""
    plan = []
    for part, entries in dialect.content.items():
        places = [_place(entry) for entry in entries if not entry.on or role in entry.on]
        if places:
            plan.append((part, places))
    return plan


def _place(entry: Entry) -> _Place:
    kind, found, name = entry.key.partition(":")
    if found and kind in ("prefix", "events"):
        return _Place(kind, name, None)
    return _Place("key", entry.key, entry.path)


def _first(held: Held, places: list[_Place]) -> Canonical | None:
    for place in places:
        if place.kind == "key" and place.name not in held.texts:
            continue
        value = _value(held, place)
        if value not in (None, "", [], {}):
            return Canonical(value)
    return None


def _value(held: Held, place: _Place) -> Any:
    if place.kind == "prefix":
        return _gathered(held.texts, place.name)
    if place.kind == "events":
        names = place.name.split("|")
        return [{"event": one.name, **_opened(one.attributes)} for one in held.events if one.name in names]
    text = held.texts[place.name]
    return at_path(parsed(text), place.path) if place.path else _opened_list(text)


def _gathered(texts: Mapping[str, str], prefix: str) -> list[dict[str, Any]]:
    """Put a list that is spread over numbered keys together again, in the order of the numbers."""
    elements: dict[int, dict[str, str]] = {}
    for key, text in texts.items():
        match = _INDEX.fullmatch(key.removeprefix(prefix)) if key.startswith(prefix) else None
        if match:
            elements.setdefault(int(match[1]), {})[match[2] or ""] = text
    return [_opened(elements[index]) for index in sorted(elements)]


def _opened(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: parsed(text) for name, text in texts.items()}


def _opened_list(text: str) -> Any:
    """Read a list whose elements are JSON once more, as some SDKs send tool definitions."""
    value = parsed(text)
    if isinstance(value, list):
        return [parsed(one) if isinstance(one, str) else one for one in value]
    return value


def _is_cut(content: Canonical | None) -> bool:
    """Tell whether content began as JSON and was cut on the way."""
    return content is not None and isinstance(content.value, str) and bool(_JSON.match(content.value))


def _add_messages(kept: dict[str, Any], content: Canonical | None, key: bytes) -> None:
    if content is None or _is_cut(content):
        return
    messages = content.value
    if isinstance(messages, dict):
        lists = (messages[name] for name in _MESSAGE_LISTS if isinstance(messages.get(name), list))
        messages = next(lists, [messages])
    if not isinstance(messages, list):
        messages = [messages]
    kept["message_hashes"] = [keyed_hash(key, message) for message in messages]
    kept["message_bytes"] = [size_bytes(message) for message in messages]


def _add_definitions(kept: dict[str, Any], content: Canonical | None) -> None:
    if content is None or _is_cut(content):
        return
    kept["tool_schema_tokens"] = -(-content.size_bytes // _BYTES_PER_TOKEN)
    kept["tool_schema_provenance"] = "estimated"
