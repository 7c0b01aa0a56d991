import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
import zstandard
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from collector.edge.access import Grant
from collector.edge.testing import RunningEdges, running_edges
from collector.journal.record import Record

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
MAX_BYTES = 1024 * 1024
BOMB_BYTES = 100_000_000
GRANTS = (Grant("right-token", "acme", may_write=True), Grant("read-token", "acme", may_write=False))


def request(name: str = "chat", trace_id: bytes = b"\1" * 16) -> bytes:
    made = ExportTraceServiceRequest()
    made.resource_spans.add().scope_spans.add().spans.add(name=name, trace_id=trace_id, span_id=b"\2" * 8)
    return made.SerializeToString()


GOOD = request()


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEdges]:
    with running_edges(tmp_path_factory.mktemp("http"), max_request_bytes=MAX_BYTES) as running:
        yield running


def post(edges: RunningEdges, body: bytes, path: str = "/v1/traces", **headers: str) -> httpx.Response:
    given = {"content-type": PROTOBUF, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(edges.http_url + path, content=body, headers=given, timeout=30)


def taken(edges: RunningEdges, body: bytes, path: str = "/v1/traces", **headers: str) -> Record:
    """Send a good request and return the one record that it became."""
    before = len(edges.records())
    answer = post(edges, body, path, **headers)
    assert answer.status_code == 200, answer.text
    (record,) = edges.records()[before:]
    return record


@pytest.mark.parametrize(
    ("path", "signal", "made"),
    [
        ("/v1/traces", "traces", ExportTraceServiceRequest),
        ("/v1/metrics", "metrics", ExportMetricsServiceRequest),
        ("/v1/logs", "logs", ExportLogsServiceRequest),
    ],
)
def test_each_signal_has_its_path(edges: RunningEdges, path: str, signal: str, made: type) -> None:
    """A request of each signal is in the journal, byte for byte, when its sender gets 200."""
    whole = made()
    (whole.resource_spans if signal == "traces" else getattr(whole, f"resource_{signal}")).add(schema_url="s")
    before_ns = time.time_ns()
    record = taken(edges, whole.SerializeToString(), path)
    assert (record.signal, record.payload, record.tenant, record.peer) == (
        signal,
        whole.SerializeToString(),
        "default",
        "127.0.0.1",
    )
    assert before_ns <= record.received_ns <= time.time_ns()


def test_json_becomes_protobuf_and_is_answered_in_json(edges: RunningEdges) -> None:
    """A JSON request is kept in its protobuf form, and the answer is JSON."""
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "01" * 16, "spanId": "02" * 8}]}]}]}
    before = len(edges.records())
    answer = post(edges, json.dumps(document).encode(), content_type="application/json; charset=utf-8")
    assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, JSON)
    (record,) = edges.records()[before:]
    spans = ExportTraceServiceRequest.FromString(record.payload).resource_spans[0].scope_spans[0].spans
    assert (spans[0].trace_id, spans[0].span_id) == (b"\1" * 16, b"\2" * 8)


def test_protobuf_is_answered_in_protobuf(edges: RunningEdges) -> None:
    """The answer to protobuf is an ExportTraceServiceResponse that reports nothing refused."""
    answer = post(edges, GOOD)
    assert answer.headers["content-type"] == PROTOBUF
    assert not ExportTraceServiceResponse.FromString(answer.content).HasField("partial_success")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(GOOD)),
        ("GZIP", gzip.compress(GOOD[:9]) + gzip.compress(GOOD[9:])),
        ("deflate", zlib.compress(GOOD)),
        ("zstd", zstandard.ZstdCompressor().compress(GOOD)),
        (
            "zstd",
            zstandard.ZstdCompressor().compress(GOOD[:9]) + zstandard.ZstdCompressor().compress(GOOD[9:]),
        ),
        ("identity", GOOD),
    ],
)
def test_compression_is_undone(edges: RunningEdges, encoding: str, body: bytes) -> None:
    """The journal holds the plain request whatever it was compressed with, in one member or more."""
    assert taken(edges, body, content_encoding=encoding).payload == GOOD


def test_a_request_without_anything_is_answered_and_not_kept(edges: RunningEdges) -> None:
    """The protocol allows an empty request; it is answered, and makes no block."""
    before = len(edges.records())
    assert post(edges, b"").status_code == 200
    assert post(edges, b"{}", content_type=JSON).status_code == 200
    assert len(edges.records()) == before


GZIP_CUT = gzip.compress(GOOD)[:-9]
ZSTD_CUT = zstandard.ZstdCompressor().compress(GOOD)[:-3]


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (400, b"\xde\xad\xbe\xef" * 100, {}),
        (400, GOOD[:-3], {}),
        (400, b"{}", {}),
        (400, GOOD, {"content_type": JSON}),
        (400, b"{", {"content_type": JSON}),
        (400, GOOD, {"content_encoding": "gzip"}),
        (400, GZIP_CUT, {"content_encoding": "gzip"}),
        (400, gzip.compress(GOOD) + b"tail", {"content_encoding": "gzip"}),
        (400, ZSTD_CUT, {"content_encoding": "zstd"}),
        (400, GOOD, {"content_encoding": "zstd"}),
        (413, b"x" * (MAX_BYTES + 1), {}),
        (413, gzip.compress(b"x" * (MAX_BYTES + 1)), {"content_encoding": "gzip"}),
        (415, GOOD, {"content_type": "text/plain"}),
        (415, GOOD, {"content_type": ""}),
        (415, GOOD, {"content_encoding": "br"}),
    ],
)
def test_bad_requests_get_the_right_status_and_the_next_good_one_works(
    edges: RunningEdges, status: int, body: bytes, headers: dict[str, str]
) -> None:
    """Each kind of bad request gets its own status, leaves nothing in the journal, and hurts nobody else."""
    before = len(edges.records())
    answer = post(edges, body, **headers)
    assert answer.status_code == status
    if answer.headers["content-type"] == PROTOBUF:
        assert Status.FromString(answer.content).message
    else:
        assert answer.json()["message"]
    assert len(edges.records()) == before
    assert taken(edges, GOOD).payload == GOOD


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_zip_bomb_is_too_large(edges: RunningEdges, encoding: str) -> None:
    """100 MB of zeros in a few kilobytes get 413 at once, and the next good request works."""
    zeros = bytes(BOMB_BYTES)
    bomb = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.ZstdCompressor().compress,
    }[encoding](zeros)
    assert len(bomb) < MAX_BYTES
    assert post(edges, bomb, content_encoding=encoding).status_code == 413
    assert taken(edges, GOOD).payload == GOOD


def test_a_body_without_a_length_is_bounded_too(edges: RunningEdges) -> None:
    """A chunked body is read no further than the limit."""

    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 65_536

    answer = httpx.post(edges.http_url + "/v1/traces", content=endless(), headers={"content-type": PROTOBUF})
    assert answer.status_code == 413


def test_a_sender_that_hangs_up_half_way_leaves_nothing(edges: RunningEdges) -> None:
    """A connection that closes before its body is whole makes no record."""
    before = len(edges.records())
    host, port = edges.http_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(
            b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
            b"Content-Length: 1000\r\n\r\n" + GOOD
        )
    assert taken(edges, GOOD).payload == GOOD
    assert len(edges.records()) == before + 1


def test_paths_and_methods_that_do_not_exist(edges: RunningEdges) -> None:
    """An unknown path is 404, a known one with another method is 405 and names the right one."""
    assert post(edges, GOOD, "/v1/trace").status_code == 404
    answer = httpx.get(edges.http_url + "/v1/traces")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_health_and_clock(edges: RunningEdges) -> None:
    """Anyone may ask whether the edge lives and what its clock says."""
    health = httpx.get(edges.http_url + "/healthz").json()
    assert (health["status"], health["journal"]) == ("ok", edges.journal.name)
    before_ns = time.time_ns()
    assert before_ns <= httpx.get(edges.http_url + "/v1/clock").json()["now_ns"] <= time.time_ns()


def test_with_tokens_only_their_holders_may_send(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No token or an unknown one is 401, one without the scope is 403, the right one names the tenant."""
    with running_edges(tmp_path_factory.mktemp("tokens"), grants=GRANTS) as edges:
        assert post(edges, GOOD).status_code == 401
        assert post(edges, GOOD, authorization="Basic right-token").status_code == 401
        refused = post(edges, GOOD, authorization="Bearer wrong-token")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "wrong-token" not in refused.text
        assert post(edges, GOOD, authorization="Bearer read-token").status_code == 403
        assert edges.records() == []
        assert taken(edges, GOOD, authorization="bearer right-token").tenant == "acme"
        assert httpx.get(edges.http_url + "/healthz").status_code == 200


def test_a_full_journal_says_when_to_try_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """At its bound the edge answers 503 with Retry-After, which every OTLP exporter retries."""
    with running_edges(tmp_path_factory.mktemp("full"), journal_max_bytes=2_000) as edges:
        answers = [post(edges, request("n" * 500)) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 503, 503]
        assert int(answers[-1].headers["retry-after"]) > 0
        assert len(edges.records()) == 3


def test_all_senders_together_are_bounded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Bodies that arrive slowly, all at once, fill no more than the room: the rest is told to try again."""
    with (
        running_edges(tmp_path_factory.mktemp("room"), max_request_bytes=10_000) as edges,
        ExitStack() as slow,
    ):
        host, port = edges.http_url.removeprefix("http://").split(":")
        for _ in range(16):
            raw = slow.enter_context(socket.create_connection((host, int(port))))
            raw.sendall(
                b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
                b"Content-Length: 10000\r\n\r\n" + b"x" * 9_990
            )
        deadline_s = time.monotonic() + 30
        while (answer := post(edges, request("n" * 500))).status_code == 200:
            assert time.monotonic() < deadline_s
        assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (503, True)
        slow.close()
        while post(edges, GOOD).status_code != 200:
            assert time.monotonic() < deadline_s
