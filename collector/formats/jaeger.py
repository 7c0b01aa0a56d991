"""Jaeger JSON, as its query API and its screen export it: `data[].spans[]`, times in microseconds.

Traps: trace ids of 64 bits come without their leading zeros; large integers come as text; the span's kind,
status and scope are tags; the process of a span stands apart.
"""

import base64
import binascii
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from collector.formats.json_events import Element
from collector.formats.parts import Bad, Part, to_parts

_NS_PER_US = 1_000
_KINDS = {
    "internal": Span.SPAN_KIND_INTERNAL,
    "server": Span.SPAN_KIND_SERVER,
    "client": Span.SPAN_KIND_CLIENT,
    "producer": Span.SPAN_KIND_PRODUCER,
    "consumer": Span.SPAN_KIND_CONSUMER,
}
_STATUSES = {"OK": Status.STATUS_CODE_OK, "ERROR": Status.STATUS_CODE_ERROR}
_SCOPE_NAMES = ("otel.scope.name", "otel.library.name")
_SCOPE_VERSIONS = ("otel.scope.version", "otel.library.version")
_TOLD_BY_SPAN = {
    "span.kind",
    "otel.status_code",
    "otel.status_description",
    *_SCOPE_NAMES,
    *_SCOPE_VERSIONS,
}


def is_jaeger(element: Element) -> bool:
    """Tell whether an element of a JSON file is one trace of a Jaeger export."""
    value = element.value
    return element.key == "data" and isinstance(value, dict) and isinstance(value.get("spans"), list)


def read_jaeger(elements: Iterable[Element | Bad]) -> Iterator[Part | Bad]:
    """Turn each trace into requests; a span that cannot be read is told and passed over."""
    for element in elements:
        if isinstance(element, Bad):
            yield element
        elif is_jaeger(element):
            yield from _trace(element.where, element.value)


def _trace(where: str, trace: dict[str, Any]) -> Iterator[Part | Bad]:
    processes = trace.get("processes") or {}
    groups: dict[tuple[str, str, str], list[Span]] = {}
    for position, raw in enumerate(trace["spans"]):
        try:
            tags = _tags(raw)
            span = _span(raw, tags)
            scope = (_first(tags, _SCOPE_NAMES), _first(tags, _SCOPE_VERSIONS))
            groups.setdefault((str(raw.get("processID", "")), *scope), []).append(span)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            yield Bad(f"{where}, span {position}", f"not a Jaeger span: {type(error).__name__} {error}")
    request = ExportTraceServiceRequest()
    for (process, name, version), spans in groups.items():
        resource = ResourceSpans()
        resource.resource.attributes.extend(_resource(raw_process(trace, processes, process)))
        scope_spans = ScopeSpans(spans=spans)
        scope_spans.scope.name, scope_spans.scope.version = name, version
        resource.scope_spans.append(scope_spans)
        request.resource_spans.append(resource)
    yield from to_parts("traces", request.SerializeToString())


def raw_process(trace: dict[str, Any], processes: Any, process: str) -> dict[str, Any]:
    """Find the process of a span: by name in the trace's table, else the one that stands in the span."""
    found = processes.get(process) if isinstance(processes, dict) else None
    inline = next((span.get("process") for span in trace["spans"] if span.get("process")), None)
    return found or inline or {}


def _resource(process: dict[str, Any]) -> Iterator[KeyValue]:
    if process.get("serviceName"):
        yield _key_value("service.name", "string", process["serviceName"])
    tags = process.get("tags") or []
    keys = {tag.get("key") for tag in tags}
    for tag in tags:
        yield _key_value(tag["key"], tag.get("type"), tag.get("value"))
        if tag["key"] == "hostname" and "host.name" not in keys:
            yield _key_value("host.name", "string", tag.get("value"))


def _tags(raw: dict[str, Any]) -> dict[str, Any]:
    return {tag["key"]: tag.get("value") for tag in raw.get("tags") or []}


def _first(tags: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((str(tags[name]) for name in names if name in tags), "")


def _span(raw: dict[str, Any], tags: dict[str, Any]) -> Span:
    start_ns = int(raw["startTime"]) * _NS_PER_US
    trace_id, span_id = _id(raw["traceID"], 32), _id(raw["spanID"], 16)
    span = Span(trace_id=trace_id, span_id=span_id, name=_clean(raw.get("operationName") or ""))
    span.start_time_unix_nano = start_ns
    span.end_time_unix_nano = start_ns + int(raw["duration"]) * _NS_PER_US
    span.kind = _KINDS.get(str(tags.get("span.kind", "")), Span.SPAN_KIND_UNSPECIFIED)
    _set_status(span, tags)
    _set_references(span, raw)
    span.attributes.extend(
        _key_value(tag["key"], tag.get("type"), tag.get("value"))
        for tag in raw.get("tags") or []
        if tag["key"] not in _TOLD_BY_SPAN
    )
    for log in raw.get("logs") or []:
        _add_event(span, log)
    return span


def _id(text: Any, digits: int) -> bytes:
    """Read an id of hex digits; leading zeros that Jaeger leaves out are put back."""
    return bytes.fromhex(str(text).zfill(digits))


def _set_status(span: Span, tags: dict[str, Any]) -> None:
    code = str(tags.get("otel.status_code", "")).upper()
    if code in _STATUSES:
        span.status.code = _STATUSES[code]
    elif tags.get("error") in (True, "true"):
        span.status.code = Status.STATUS_CODE_ERROR
    if "otel.status_description" in tags:
        span.status.message = _clean(tags["otel.status_description"])


def _set_references(span: Span, raw: dict[str, Any]) -> None:
    """The first CHILD_OF of the same trace is the parent; every other reference is a link."""
    for reference in raw.get("references") or []:
        trace_id, span_id = _id(reference["traceID"], 32), _id(reference["spanID"], 16)
        is_parent = reference.get("refType") == "CHILD_OF" and trace_id == span.trace_id
        if is_parent and not span.parent_span_id:
            span.parent_span_id = span_id
        else:
            span.links.add(trace_id=trace_id, span_id=span_id)
    if not span.parent_span_id and raw.get("parentSpanID"):
        span.parent_span_id = _id(raw["parentSpanID"], 16)


def _add_event(span: Span, log: dict[str, Any]) -> None:
    event = span.events.add(time_unix_nano=int(log["timestamp"]) * _NS_PER_US)
    for field in log.get("fields") or []:
        if field["key"] == "event" and not event.name:
            event.name = _clean(field.get("value"))
        else:
            event.attributes.append(_key_value(field["key"], field.get("type"), field.get("value")))


def _key_value(key: Any, kind: Any, value: Any) -> KeyValue:
    convert = _VALUES.get(str(kind).lower(), _text)
    return KeyValue(key=_clean(key), value=convert(value))


def _text(value: Any) -> AnyValue:
    return AnyValue(string_value=_clean(value))


def _flag(value: Any) -> AnyValue:
    return AnyValue(bool_value=value if isinstance(value, bool) else str(value).lower() == "true")


def _integer(value: Any) -> AnyValue:
    """An integer; one that is none (as 1.5 or text) is kept as what it is, for decode to refuse."""
    if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
        return AnyValue(double_value=value)
    try:
        number = int(value)
    except (ValueError, TypeError):
        return _text(value)
    return AnyValue(int_value=number) if -(2**63) <= number < 2**63 else _text(value)


def _number(value: Any) -> AnyValue:
    try:
        return AnyValue(double_value=float(value))
    except (ValueError, TypeError):
        return _text(value)


def _binary(value: Any) -> AnyValue:
    try:
        return AnyValue(bytes_value=base64.b64decode(str(value), validate=True))
    except binascii.Error:
        return _text(value)


def _clean(value: Any) -> str:
    """Text that protobuf takes: half of a surrogate pair becomes a question mark."""
    return str("" if value is None else value).encode("utf-8", "replace").decode()


_VALUES: dict[str, Callable[[Any], AnyValue]] = {
    "string": _text,
    "bool": _flag,
    "int64": _integer,
    "float64": _number,
    "binary": _binary,
}
