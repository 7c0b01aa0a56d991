"""OTLP as protobufjs prints it: ids as byte buffers, 64-bit numbers as two halves.

Documents are resource entries, one or a list, or a whole request. All else is as in OTLP/JSON.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.formats.documents import Document
from collector.formats.otlp_json import OTLP_KEYS
from collector.formats.parts import Bad, Part, to_parts
from collector.otlp_json import to_protobuf
from taximeter.errors import BadInputError

_IDS = ("traceId", "spanId", "parentSpanId")
_HALF = 2**32
_SPAN_KEYS = [key for key, signal in OTLP_KEYS.items() if signal == "traces"]


def is_otlp_protobufjs(seen: Mapping[str, Any]) -> bool:
    """Tell whether a JSON file holds spans whose ids are byte buffers."""
    entries = [seen.get(key) for key in _SPAN_KEYS]
    scopes = [
        seen.get("scopeSpans"),
        *(entry.get("scopeSpans") for entry in entries if isinstance(entry, dict)),
    ]
    return any(_has_buffer_ids(scope) for scope in scopes)


def read_otlp_protobufjs(documents: Iterable[Document | Bad]) -> Iterator[Part | Bad]:
    """Turn documents into requests; an entry that cannot be one is told and passed over."""
    for document in documents:
        if isinstance(document, Bad):
            yield document
            continue
        for entry in _entries(document.value):
            try:
                body = json.dumps({"resourceSpans": [_plain(entry)]}).encode()
                yield from to_parts("traces", to_protobuf("traces", body))
            except (BadInputError, RecursionError, TypeError, ValueError) as error:
                yield Bad(document.where, str(error) or "nested too deeply")


def _entries(value: Mapping[str, Any]) -> list[Any]:
    for key in _SPAN_KEYS:
        if isinstance(value.get(key), list):
            return list(value[key])
    return [value] if "scopeSpans" in value else []


def _has_buffer_ids(scope: Any) -> bool:
    while isinstance(scope, list):
        scope = scope[0] if scope else None
    spans = scope.get("spans") if isinstance(scope, dict) else None
    first = spans[0] if isinstance(spans, list) and spans else None
    return isinstance(first, dict) and _is_buffer(first.get("traceId"))


def _is_buffer(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "Buffer" and isinstance(value.get("data"), list)


def _plain(value: Any, key: str = "") -> Any:
    """Write ids as hex, other bytes as base64, and halves as one number in text."""
    if isinstance(value, list):
        return [_plain(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_buffer(value):
        raw = bytes(value["data"])
        return raw.hex() if key in _IDS else base64.b64encode(raw).decode()
    if value.keys() == {"low", "high", "unsigned"}:
        return str(_number(value["low"], value["high"], unsigned=bool(value["unsigned"])))
    return {name: _plain(held, name) for name, held in value.items()}


def _number(low: int, high: int, *, unsigned: bool) -> int:
    """Put the halves together; each comes as a signed 32-bit number."""
    number = (high % _HALF) * _HALF + low % _HALF
    return number - 2**64 if not unsigned and number >= 2**63 else number
