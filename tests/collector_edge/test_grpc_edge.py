import gzip
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from collector.edge.access import Grant
from collector.edge.testing import RunningEdges, running_edges

MAX_BYTES = 1024 * 1024
SERVICES = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}
GRANTS = (Grant("right-token", "acme", may_write=True), Grant("read-token", "acme", may_write=False))


def request(name: str = "chat") -> bytes:
    made = ExportTraceServiceRequest()
    made.resource_spans.add().scope_spans.add().spans.add(name=name, trace_id=b"\1" * 16, span_id=b"\2" * 8)
    return made.SerializeToString()


GOOD = request()
# One resource with a schema_url, which has the same bytes in every signal's request.
ANY_SIGNAL = ExportTraceServiceRequest(
    resource_spans=[ResourceSpans(schema_url="s" * 500)]
).SerializeToString()


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdges]:
    with running_edges(tmp_path_factory.mktemp("grpc"), max_request_bytes=MAX_BYTES) as running:
        yield running


def send(
    edges: RunningEdges, body: bytes, signal: str = "traces", token: str | None = None, **more: Any
) -> bytes:
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(edges.grpc_target, options=[("grpc.max_send_message_length", -1)]) as channel:
        call = channel.unary_unary(f"/{SERVICES[signal]}/Export")
        answer: bytes = call(body, metadata=metadata, timeout=30, **more)
        return answer


def refused(edges: RunningEdges, body: bytes, **more: Any) -> Any:
    with pytest.raises(grpc.RpcError) as error:
        send(edges, body, **more)
    return error.value


@pytest.mark.parametrize("signal", SERVICES)
@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_each_signal_has_its_service(edges: RunningEdges, signal: str, compression: grpc.Compression) -> None:
    """A request of each signal is in the journal, byte for byte and uncompressed, when it is answered."""
    before = len(edges.records())
    assert send(edges, ANY_SIGNAL, signal, compression=compression) == b""
    (record,) = edges.records()[before:]
    assert (record.signal, record.payload, record.tenant, record.peer) == (
        signal,
        ANY_SIGNAL,
        "default",
        "127.0.0.1",
    )


@pytest.mark.parametrize("body", [b"\xde\xad\xbe\xef" * 100, GOOD[:-3], gzip.compress(GOOD)])
def test_what_is_no_request_is_an_invalid_argument(edges: RunningEdges, body: bytes) -> None:
    """Garbage and cut messages get INVALID_ARGUMENT, which nobody retries, and the next good one works."""
    before = len(edges.records())
    assert refused(edges, body).code() is grpc.StatusCode.INVALID_ARGUMENT
    assert len(edges.records()) == before
    assert send(edges, GOOD) == b""


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_over_the_limit_is_refused(edges: RunningEdges, compression: grpc.Compression) -> None:
    """A message too large as sent, or a zip bomb, gets RESOURCE_EXHAUSTED, and the next good one works."""
    answer = refused(edges, bytes(20 * MAX_BYTES), compression=compression)
    assert answer.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert send(edges, GOOD) == b""


def test_an_unknown_service_is_unimplemented(edges: RunningEdges) -> None:
    """Whoever asks for another service learns that there is none."""
    with grpc.insecure_channel(edges.grpc_target) as channel, pytest.raises(grpc.RpcError) as error:
        channel.unary_unary("/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export")(b"")
    failure: Any = error.value
    assert failure.code() is grpc.StatusCode.UNIMPLEMENTED


def test_with_tokens_only_their_holders_may_send(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No token or an unknown one is UNAUTHENTICATED, one without the scope is PERMISSION_DENIED."""
    with running_edges(tmp_path_factory.mktemp("tokens"), grants=GRANTS) as edges:
        assert refused(edges, GOOD).code() is grpc.StatusCode.UNAUTHENTICATED
        unknown = refused(edges, GOOD, token="wrong-token")
        assert unknown.code() is grpc.StatusCode.UNAUTHENTICATED
        assert "wrong-token" not in unknown.details()
        assert refused(edges, GOOD, token="read-token").code() is grpc.StatusCode.PERMISSION_DENIED
        assert edges.records() == []
        send(edges, GOOD, token="right-token")
        assert [record.tenant for record in edges.records()] == ["acme"]


def test_a_full_journal_says_when_to_try_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """At its bound the edge answers RESOURCE_EXHAUSTED with RetryInfo: without it no exporter would retry."""
    with running_edges(tmp_path_factory.mktemp("full"), journal_max_bytes=1_000) as edges:
        send(edges, request("n" * 800))
        answer = refused(edges, request("n" * 800))
    assert answer.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    details = dict(answer.trailing_metadata())["grpc-status-details-bin"]
    retry = RetryInfo()
    assert Status.FromString(details).details[0].Unpack(retry)
    assert retry.retry_delay.seconds > 0
