"""OTLP/JSON and Tempo exports: `resourceSpans`, `resourceLogs`, `resourceMetrics`, or Tempo's `batches`.

A Tempo export is OTLP under other names: `batches` for `resourceSpans`, the older `instrumentationLibrary`
for `scope`, and ids that may be base64. Old OTLP exporters share the older names.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from collector.formats.json_events import Element
from collector.formats.parts import Bad, Part, to_parts
from collector.journal.record import Signal
from collector.otlp_json import to_protobuf
from taximeter.errors import BadInputError

OTLP_KEYS: dict[str, Signal] = {
    "resourceSpans": "traces",
    "resource_spans": "traces",
    "resourceLogs": "logs",
    "resource_logs": "logs",
    "resourceMetrics": "metrics",
    "resource_metrics": "metrics",
}
TEMPO_KEYS: dict[str, Signal] = {"batches": "traces"}
_DOCUMENT_KEY: dict[Signal, str] = {
    "traces": "resourceSpans",
    "logs": "resourceLogs",
    "metrics": "resourceMetrics",
}
_OLD_LISTS = {
    "instrumentationLibrarySpans": "scopeSpans",
    "instrumentationLibraryLogs": "scopeLogs",
    "instrumentationLibraryMetrics": "scopeMetrics",
}
_LISTS: dict[Signal, tuple[str, str]] = {
    "traces": ("scopeSpans", "spans"),
    "logs": ("scopeLogs", "logRecords"),
    "metrics": ("scopeMetrics", "metrics"),
}
_ID_BYTES = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def is_otlp(element: Element) -> bool:
    """Tell whether an element of a JSON file is OTLP."""
    return element.key in OTLP_KEYS and isinstance(element.value, dict)


def is_tempo(element: Element) -> bool:
    """Tell whether an element of a JSON file is a Tempo export, bare or under the key `trace`."""
    if element.key == "trace" and isinstance(element.value, dict):
        return any(key in element.value for key in (*TEMPO_KEYS, *OTLP_KEYS))
    return element.key in TEMPO_KEYS and isinstance(element.value, dict) and "resource" in element.value


def read_otlp(elements: Iterable[Element | Bad]) -> Iterator[Part | Bad]:
    """Turn OTLP/JSON elements into requests; an element that cannot be one is told and passed over."""
    for element in elements:
        if isinstance(element, Bad):
            yield element
        elif is_otlp(element):
            yield from _request(OTLP_KEYS[element.key], element.where, element.value)


def read_tempo(elements: Iterable[Element | Bad]) -> Iterator[Part | Bad]:
    """Turn a Tempo export into requests; an element that cannot be one is told and passed over."""
    for element in elements:
        if isinstance(element, Bad):
            yield element
        elif is_tempo(element):
            for batch in _batches(element):
                yield from _request("traces", element.where, batch, mend=_mend_ids)


def _batches(element: Element) -> Iterator[Any]:
    if element.key != "trace":
        yield element.value
        return
    for key, signal in (TEMPO_KEYS | OTLP_KEYS).items():
        if signal == "traces":
            yield from element.value.get(key) or []


def _request(
    signal: Signal, where: str, raw: Any, mend: Callable[[Any], None] | None = None
) -> Iterator[Part | Bad]:
    resource = _modern(raw)
    try:
        if mend:
            mend(resource)
        body = json.dumps({_DOCUMENT_KEY[signal]: [resource]}).encode()
        yield from to_parts(signal, to_protobuf(signal, body))
    except BadInputError as error:
        halves = _halves(signal, resource)
        if not halves:
            yield Bad(where, str(error))
        for half in halves:
            yield from _request(signal, where, half)
    except RecursionError:
        yield Bad(where, "nested too deeply")


def _halves(signal: Signal, resource: Any) -> list[Any]:
    """Cut a resource entry in two, so that one item that cannot be read costs itself alone."""
    scopes_key, items_key = _LISTS[signal]
    try:
        scopes = resource[scopes_key]
        leaves = [
            ({key: value for key, value in scope.items() if key != items_key}, item)
            for scope in scopes
            for item in scope[items_key]
        ]
    except (TypeError, KeyError, AttributeError):
        return []
    middle = len(leaves) // 2
    if middle == 0:
        return []
    return [
        {**resource, scopes_key: [{**scope, items_key: [item]} for scope, item in half]}
        for half in (leaves[:middle], leaves[middle:])
    ]


def _modern(resource: Any) -> Any:
    if not isinstance(resource, dict) or not any(old in resource for old in _OLD_LISTS):
        return resource
    renamed = {_OLD_LISTS.get(key, key): value for key, value in resource.items()}
    for key in _OLD_LISTS.values():
        for scope in renamed.get(key) or []:
            if isinstance(scope, dict) and "instrumentationLibrary" in scope:
                scope["scope"] = scope.pop("instrumentationLibrary")
    return renamed


def _mend_ids(value: Any) -> None:
    """Rewrite base64 ids as hex, in spans, links and events alike; what is neither stays as it is."""
    if isinstance(value, list):
        for item in value:
            _mend_ids(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _ID_BYTES and isinstance(item, str):
                value[key] = _to_hex(item, _ID_BYTES[key])
            elif key != "attributes":
                _mend_ids(item)


def _to_hex(text: str, size: int) -> str:
    if len(text) == 2 * size:
        return text
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        return text
    return raw.hex() if len(raw) == size else text
