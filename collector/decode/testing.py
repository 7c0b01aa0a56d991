"""Doubles for tests: requests made by hand, and decoding them in one call."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.decode.block import decode_block
from collector.decode.options import DecodeOptions
from collector.journal.record import Record, Signal

START_NS = 1_780_000_000_000_000_000
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUS = ("unset", "ok", "error")


def any_value(value: Any) -> AnyValue:
    """Make the protobuf form of a plain value; None is a value that was left out."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    held = AnyValue()
    if isinstance(value, Mapping):
        held.kvlist_value.SetInParent()
        held.kvlist_value.values.extend(pairs(value))
    elif isinstance(value, Sequence):
        held.array_value.SetInParent()
        held.array_value.values.extend(any_value(one) for one in value)
    return held


def pairs(values: Mapping[str, Any]) -> list[KeyValue]:
    """Make protobuf attributes of plain values."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in values.items()]


def make_span(
    attributes: Mapping[str, Any] | None = None,
    *,
    name: str = "span",
    number: int = 1,
    trace: int = 1,
    parent: int | None = None,
    kind: str = "internal",
    status: str = "unset",
    start_ns: int = START_NS,
    duration_ns: int = 1_000_000_000,
    events: Iterable[tuple[str, Mapping[str, Any]]] = (),
) -> Span:
    """Make a span whose ids are the given numbers."""
    span = Span(
        trace_id=trace.to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        parent_span_id=parent.to_bytes(8, "big") if parent is not None else b"",
        name=name,
        kind=_KINDS.index(kind),  # type: ignore[arg-type]
        start_time_unix_nano=start_ns,
        end_time_unix_nano=start_ns + duration_ns,
        attributes=pairs(attributes or {}),
    )
    span.status.code = _STATUS.index(status)  # type: ignore[assignment]
    for event, held in events:
        span.events.add(name=event, attributes=pairs(held))
    return span


def make_request(
    *spans: Span,
    scope: str = "app",
    version: str = "",
    schema_url: str = "",
    resource: Mapping[str, Any] | None = None,
) -> bytes:
    """Make a serialized trace request with one resource and one scope."""
    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add()
    of_resource.resource.attributes.extend(pairs(resource or {}))
    of_scope = of_resource.scope_spans.add(schema_url=schema_url)
    of_scope.scope.name = scope
    of_scope.scope.version = version
    of_scope.spans.extend(spans)
    return request.SerializeToString()


def make_logs(
    *events: tuple[int, Mapping[str, Any]],
    resource: Mapping[str, Any] | None = None,
    body: str | None = None,
    trace_id: bytes = b"",
) -> bytes:
    """Make a serialized log request of (instant in ns, attributes) with one resource and one scope."""
    request = ExportLogsServiceRequest()
    of_resource = request.resource_logs.add()
    of_resource.resource.attributes.extend(pairs(resource or {}))
    of_scope = of_resource.scope_logs.add()
    of_scope.scope.name = "events"
    for t_ns, attributes in events:
        log = of_scope.log_records.add(time_unix_nano=t_ns, attributes=pairs(attributes), trace_id=trace_id)
        if body is not None:
            log.body.string_value = body
    return request.SerializeToString()


def make_record(payload: bytes, signal: Signal = "traces", received_ns: int = START_NS) -> Record:
    """Make the journal's record of a request."""
    return Record(signal, "default", received_ns, "test", payload)


def decode_rows(
    *payloads: bytes, kind: str = "spans", signal: Signal = "traces", options: DecodeOptions = OPTIONS
) -> list[dict[str, Any]]:
    """Decode requests and return the rows of one kind."""
    records = [make_record(payload, signal) for payload in payloads]
    rows: list[dict[str, Any]] = decode_block(records, options)[kind].to_pylist()
    return rows


def decode_span(attributes: Mapping[str, Any], **request: Any) -> dict[str, Any]:
    """Decode one span; keyword arguments of `make_span` and `make_request` may be mixed."""
    of_request = {
        key: request.pop(key) for key in ("scope", "version", "schema_url", "resource") if key in request
    }
    (row,) = decode_rows(make_request(make_span(attributes, **request), **of_request))
    return row
