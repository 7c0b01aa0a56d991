"""Clients that are slow, many or malicious: they are ended, and everybody else is answered."""

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest
from google.rpc import status_pb2

from collector.decode.testing import make_request, make_span
from collector.edge import bounded, grpc_edge, room
from collector.edge.testing import RunningEdges, running_edges

BODY = make_request(make_span())
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
MIB = 1 << 20


@pytest.fixture
def edges(tmp_path: Path) -> Iterator[RunningEdges]:
    with running_edges(tmp_path) as running:
        yield running


def connect(edges: RunningEdges, first: bytes = b"") -> socket.socket:
    host, _, port = edges.http_url.removeprefix("http://").partition(":")
    made = socket.create_connection((host, int(port)), timeout=10)
    made.sendall(first)
    return made


def post(edges: RunningEdges) -> int:
    connection = http.client.HTTPConnection(edges.http_url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/traces", BODY, {"content-type": "application/x-protobuf"})
    status = connection.getresponse().status
    connection.close()
    return status


def is_closed(client: socket.socket) -> bool:
    client.settimeout(5)
    try:
        return client.recv(1000) == b""
    except ConnectionError:
        return True


def test_headers_that_never_end_are_cut_off_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that says nothing, or half a header, is closed; one that is quick is answered meanwhile."""
    monkeypatch.setattr(bounded, "HEADERS_S", 0.5)
    with running_edges(tmp_path) as edges, ExitStack() as stack:
        slow = [stack.enter_context(connect(edges, first)) for first in [b"", HEAD + b"X-A: "] * 20]
        assert post(edges) == 200
        assert all(map(is_closed, slow))


def test_a_second_request_must_bring_its_headers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was good once is bounded again at its next request."""
    monkeypatch.setattr(bounded, "HEADERS_S", 0.5)
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    with running_edges(tmp_path) as edges, connect(edges, whole) as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(HEAD + b"X-A: ")
        assert is_closed(client)


def test_endless_headers_are_refused(edges: RunningEdges) -> None:
    """Headers of more than 64 KiB are refused, not gathered."""
    with connect(edges, HEAD + b"X-A: ") as client:
        answer = b""
        try:
            for _ in range(200):
                client.sendall(b"a" * 4_096)
            answer = client.recv(1000)
        except OSError:
            answer = answer or b"HTTP/1.1 431"
    assert answer.startswith(b"HTTP/1.1 431")
    assert post(edges) == 200


def test_a_connection_too_many_is_told_to_come_again(
    edges: RunningEdges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the bound a connection gets 503 with a delay; when others have gone there is room again."""
    monkeypatch.setattr(bounded, "most_connections", lambda: 5)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connect(edges))
        time.sleep(0.2)
        with connect(edges) as sixth:
            answer = sixth.recv(1000)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after" in answer
    time.sleep(0.3)
    assert post(edges) == 200


def test_slow_bodies_that_fill_the_room_give_way(
    edges: RunningEdges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seventeen bodies that never end hold all room; the next sender is refused once, then they are ended."""
    monkeypatch.setattr(room, "SLOW_S", 0.2)
    with ExitStack() as stack:
        for _ in range(17):
            client = stack.enter_context(connect(edges, HEAD + b"Content-Length: %d\r\n\r\n" % MIB))
            client.sendall(bytes(MIB - 1))
        time.sleep(1)
        statuses = []
        while 200 not in statuses and len(statuses) < 20:
            statuses.append(post(edges))
            time.sleep(0.2)
    assert 200 in statuses[:5]
    assert set(statuses) <= {200, 503}


def test_more_grpc_calls_than_are_taken_are_told_when_to_try_again(
    edges: RunningEdges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the bound a call is RESOURCE_EXHAUSTED with a delay that OTLP senders read."""
    monkeypatch.setattr(grpc_edge, "_CONCURRENT_REQUESTS", 0)
    with grpc.insecure_channel(edges.grpc_target) as channel:
        call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        with pytest.raises(grpc.RpcError) as refused:
            call(BODY, timeout=10)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        (details,) = [v for k, v in refused.value.trailing_metadata() if k == "grpc-status-details-bin"]
        assert status_pb2.Status.FromString(details).details[0].type_url.endswith("RetryInfo")
        monkeypatch.undo()
        assert call(BODY, timeout=10) == b""
