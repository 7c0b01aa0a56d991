from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from collector.edge.access import Grant
from collector.edge.testing import RunningEdges, running_edges
from collector.journal.record import Record

TOKEN = "right-token"
HTTP = {
    "plain": Compression.NoCompression,
    "gzip": Compression.Gzip,
    "deflate": Compression.Deflate,
}
GRPC = {"plain": grpc.Compression.NoCompression, "gzip": grpc.Compression.Gzip}


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdges]:
    grants = (Grant(TOKEN, "acme", may_write=True),)
    with running_edges(tmp_path_factory.mktemp("sdk"), grants=grants) as running:
        yield running


def http_options(edges: RunningEdges, signal: str, compression: str) -> dict[str, Any]:
    return {
        "endpoint": f"{edges.http_url}/v1/{signal}",
        "compression": HTTP[compression],
        "headers": {"authorization": f"Bearer {TOKEN}"},
    }


def grpc_options(edges: RunningEdges, compression: str) -> dict[str, Any]:
    return {
        "endpoint": edges.grpc_target,
        "compression": GRPC[compression],
        "insecure": True,
        "headers": (("authorization", f"Bearer {TOKEN}"),),
    }


def arrived(edges: RunningEdges, act: Callable[[], None]) -> list[Record]:
    before = len(edges.records())
    act()
    return edges.records()[before:]


def spans_of(records: list[Record]) -> list[str]:
    requests = [ExportTraceServiceRequest.FromString(record.payload) for record in records]
    return [
        s.name for request in requests for r in request.resource_spans for c in r.scope_spans for s in c.spans
    ]


@pytest.mark.parametrize(
    ("protocol", "compression"),
    [("http", "plain"), ("http", "gzip"), ("http", "deflate"), ("grpc", "plain"), ("grpc", "gzip")],
)
def test_spans_of_the_real_sdk_arrive(edges: RunningEdges, protocol: str, compression: str) -> None:
    """What an application sends with the OpenTelemetry SDK is durable when its flush returns."""
    exporter: SpanExporter = (
        HttpSpans(**http_options(edges, "traces", compression))
        if protocol == "http"
        else GrpcSpans(**grpc_options(edges, compression))
    )

    def act() -> None:
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(exporter))
        for number in range(40):
            with provider.get_tracer("test").start_as_current_span(f"span {number}"):
                pass
        assert provider.force_flush()
        provider.shutdown()

    records = arrived(edges, act)
    assert spans_of(records) == [f"span {number}" for number in range(40)]
    assert {record.tenant for record in records} == {"acme"}


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_metrics_of_the_real_sdk_arrive(edges: RunningEdges, protocol: str) -> None:
    """A metric reader's flush is durable when it returns, over both protocols."""
    exporter = (
        HttpMetrics(**http_options(edges, "metrics", "gzip"))
        if protocol == "http"
        else GrpcMetrics(**grpc_options(edges, "gzip"))
    )

    def act() -> None:
        provider = MeterProvider([PeriodicExportingMetricReader(exporter, export_interval_millis=60_000)])
        provider.get_meter("test").create_counter("tokens").add(3)
        assert provider.force_flush()
        provider.shutdown()

    records = arrived(edges, act)
    assert {record.signal for record in records} == {"metrics"}
    assert b"tokens" in records[0].payload


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_an_empty_log_batch_of_the_real_sdk_is_answered(edges: RunningEdges, protocol: str) -> None:
    """The logs service answers the SDK's exporter, and a batch of nothing makes no record."""
    exporter = (
        HttpLogs(**http_options(edges, "logs", "gzip"))
        if protocol == "http"
        else GrpcLogs(**grpc_options(edges, "gzip"))
    )

    def act() -> None:
        assert exporter.export([]).name == "SUCCESS"
        exporter.shutdown()

    assert arrived(edges, act) == []
