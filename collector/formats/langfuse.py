"""Langfuse exports: traces with their observations, or rows of observations, from its screen or its API.

An observation becomes the span that Langfuse's own SDK would send, with Langfuse's usage and cost. Ids that
are OpenTelemetry's stay what they are.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.formats.documents import Document
from collector.formats.langfuse_usage import read_cost, read_usage
from collector.formats.made import (
    SPAN_ID_BYTES,
    TRACE_ID_BYTES,
    Made,
    Source,
    instant_ns,
    span_id_of,
    to_requests,
    trace_id_of,
)
from collector.formats.parts import Bad, Part

_SOURCE = Source("langfuse", "taximeter.langfuse_export")
_ROW_KEYS = {"traceId", "type", "startTime", "parentObservationId"}
_PREFIX = "langfuse.observation."
_SNAKE = re.compile(r"_([a-z])")
_NO_MODEL = ("", "unknown")
# Kinds that an instrumentation named before Langfuse had a type for them: attribute, its word, the type.
_OLD_KINDS = {
    ("openinference.span.kind", "TOOL"): "tool",
    ("openinference.span.kind", "RETRIEVER"): "retriever",
    ("openinference.span.kind", "EMBEDDING"): "embedding",
    ("gen_ai.operation.name", "execute_tool"): "tool",
}
_EVENT_SCOPES = ("openinference.instrumentation.beeai",)  # a span per event: one tool call is three of them


def is_langfuse(seen: Mapping[str, Any]) -> bool:
    """Tell by keys whether a JSON file is an export: a row of observations, or a trace that holds some."""
    held = (seen, seen.get("data"), seen.get("observations"))
    return any(isinstance(part, dict) and _is_row(part) for part in held)


def read_langfuse(documents: Iterable[Document | Bad]) -> Iterator[Part | Bad]:
    """Turn an export into requests; an observation that cannot be read is told and passed over."""
    yield from to_requests(_SOURCE, _spans(documents))


def _is_row(value: Mapping[str, Any]) -> bool:
    return _camel(value).keys() >= _ROW_KEYS


def _spans(documents: Iterable[Document | Bad]) -> Iterator[Made | Bad]:
    for document in documents:
        if isinstance(document, Bad):
            yield document
            continue
        trace, rows = _trace(document.value)
        for row in rows:
            try:
                yield _span(row, trace)
            except (KeyError, ValueError, TypeError, OverflowError) as error:
                yield Bad(document.where, f"an observation without ids or time: {type(error).__name__}")


def _trace(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    """Read a document as its trace and its observations; of two forms of one the fuller values count."""
    if _is_row(value):
        return {}, [_camel(value)]
    trace = value.get("trace")
    trace = trace if isinstance(trace, dict) else value
    merged: dict[Any, dict[str, Any]] = {}
    for rows in (trace.get("observations"), value.get("observations")):
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):
                known = {name: held for name, held in _camel(row).items() if held is not None}
                merged.setdefault(row.get("id"), {}).update(known)
    return trace, list(merged.values())


def _span(row: Mapping[str, Any], trace: Mapping[str, Any]) -> Made:
    trace_key = row.get("traceId") or trace["id"]
    start_ns = instant_ns(row["startTime"])
    parent = row.get("parentObservationId")
    return Made(
        trace_id=_id(trace_key, TRACE_ID_BYTES) or trace_id_of(_SOURCE.scope, trace_key),
        span_id=_span_id(trace_key, row["id"]),
        parent_id=_span_id(trace_key, parent) if parent else b"",
        name=str(row.get("name") or row["type"]),
        start_ns=start_ns,
        end_ns=instant_ns(row["endTime"]) if row.get("endTime") else start_ns,
        attributes=_attributes(row, trace),
    )


def _attributes(row: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, Any]:
    model = row.get("model") or row.get("providedModelName")
    first = row.get("completionStartTime")
    return {
        f"{_PREFIX}type": _type(row),
        f"{_PREFIX}level": row.get("level"),
        f"{_PREFIX}model.name": None if model in _NO_MODEL else model,
        f"{_PREFIX}usage_details": read_usage(row),
        f"{_PREFIX}cost_details": read_cost(row),
        f"{_PREFIX}completion_start_time": json.dumps(first) if first else None,
        f"{_PREFIX}input": row.get("input"),
        f"{_PREFIX}output": row.get("output"),
        "session.id": row.get("sessionId") or trace.get("sessionId"),
        "user.id": row.get("userId") or trace.get("userId"),
    }


def _type(row: Mapping[str, Any]) -> str:
    told = str(row["type"]).lower()
    if told != "span":
        return told
    metadata = _opened(row.get("metadata"))
    if _opened(metadata.get("scope")).get("name") in _EVENT_SCOPES:
        return told
    attributes = _opened(metadata.get("attributes"))
    return next((kind for (key, word), kind in _OLD_KINDS.items() if attributes.get(key) == word), told)


def _opened(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _camel(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a file export has snake case where the API has camel case."""
    if "trace_id" not in row:
        return dict(row)
    return {_SNAKE.sub(lambda match: match[1].upper(), name): value for name, value in row.items()}


def _span_id(trace_key: Any, key: Any) -> bytes:
    return _id(key, SPAN_ID_BYTES) or span_id_of(_SOURCE.scope, trace_key, key)


def _id(text: Any, size: int) -> bytes | None:
    """An id that is OpenTelemetry's own: hex digits of the right number, dashes of a UUID taken out."""
    digits = str(text).replace("-", "")
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        return None
    return raw if len(raw) == size and any(raw) else None
