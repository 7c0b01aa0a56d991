"""What a reader of a file hands on: whole OTLP requests of bounded size, and what could not be read."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.journal.record import Signal
from taximeter.errors import BadInputError

ITEMS_PER_PART = 5_000


class Part(NamedTuple):
    """One OTLP request in protobuf form, and how many spans, log records or metrics it holds."""

    signal: Signal
    payload: bytes
    items: int


class Bad(NamedTuple):
    """A stretch of a recognised file that could not be read; what follows it may still be good."""

    where: str
    reason: str


class Note(NamedTuple):
    """What a person must know about the figures of a file that was read."""

    text: str


class _Shape(NamedTuple):
    request: Any
    resources: str
    scopes: str
    items: str


SHAPES: dict[Signal, _Shape] = {
    "traces": _Shape(ExportTraceServiceRequest, "resource_spans", "scope_spans", "spans"),
    "metrics": _Shape(ExportMetricsServiceRequest, "resource_metrics", "scope_metrics", "metrics"),
    "logs": _Shape(ExportLogsServiceRequest, "resource_logs", "scope_logs", "log_records"),
}


def to_parts(signal: Signal, payload: bytes, limit: int = ITEMS_PER_PART) -> Iterator[Part]:
    """Cut one OTLP request into requests of at most `limit` items; the order of items stays.

    Raises:
        BadInputError: the payload is not a request of this signal.
    """
    shape = SHAPES[signal]
    try:
        request = shape.request.FromString(payload)
    except DecodeError:
        message = f"not an OTLP {signal} message"
        raise BadInputError(message) from None
    items = sum(
        len(getattr(scope, shape.items))
        for resource in getattr(request, shape.resources)
        for scope in getattr(resource, shape.scopes)
    )
    if items <= limit:
        yield Part(signal, payload, items)
        return
    for resource in getattr(request, shape.resources):
        for scope in getattr(resource, shape.scopes):
            yield from _cut_scope(signal, resource, scope, limit)


def _cut_scope(signal: Signal, resource: Any, scope: Any, limit: int) -> Iterator[Part]:
    shape = SHAPES[signal]
    items = getattr(scope, shape.items)
    for start in range(0, len(items), limit):
        request = shape.request()
        new_resource = getattr(request, shape.resources).add(schema_url=resource.schema_url)
        new_resource.resource.CopyFrom(resource.resource)
        new_scope = getattr(new_resource, shape.scopes).add(schema_url=scope.schema_url)
        new_scope.scope.CopyFrom(scope.scope)
        chunk = items[start : start + limit]
        getattr(new_scope, shape.items).extend(chunk)
        yield Part(signal, request.SerializeToString(), len(chunk))
