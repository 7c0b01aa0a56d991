"""The three OTLP services: their paths, their names, and how their requests are checked."""

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from collector.edge.refusal import MALFORMED, RefusedError
from collector.journal.record import Signal


class Service(NamedTuple):
    """One signal's OTLP service."""

    signal: Signal
    path: str
    grpc_name: str
    request: Any  # the protobuf class of the request


SERVICES = (
    Service(
        "traces",
        "/v1/traces",
        "opentelemetry.proto.collector.trace.v1.TraceService",
        trace_service_pb2.ExportTraceServiceRequest,
    ),
    Service(
        "metrics",
        "/v1/metrics",
        "opentelemetry.proto.collector.metrics.v1.MetricsService",
        metrics_service_pb2.ExportMetricsServiceRequest,
    ),
    Service(
        "logs",
        "/v1/logs",
        "opentelemetry.proto.collector.logs.v1.LogsService",
        logs_service_pb2.ExportLogsServiceRequest,
    ),
)


def check(service: Service, payload: bytes) -> None:
    """Parse a request once, natively, and throw the result away.

    Raises:
        RefusedError: the bytes are not a request of this service.
    """
    try:
        service.request.FromString(payload)
    except DecodeError:
        message = f"the body is not a protobuf {service.request.DESCRIPTOR.name}"
        raise RefusedError(MALFORMED, message) from None
