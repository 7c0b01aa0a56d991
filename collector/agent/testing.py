"""Doubles for tests: what a replay sampled, a driver that fails on demand, a receiver of metrics."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeVar

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from collector.agent.binding import Card, DriverError, Handle, Memory, Process, Utilization
from collector.agent.otlp import PREFIX
from taximeter.clock import NS_PER_S

T = TypeVar("T")


class Sampled(NamedTuple):
    """One sample, flat."""

    uuid: str
    bus_id: str | None
    index: int  # type: ignore[assignment]  # a tuple's own method of that name is not missed here
    name: str | None
    metric: str
    t_ns: int
    value: float
    pid: int | None
    parent_uuid: str | None
    slices: int | None

    @property
    def t_s(self) -> float:
        """Seconds since the start of the replay."""
        return self.t_ns / NS_PER_S


class Replayed(NamedTuple):
    """What a replayed time line gave: samples, lines told to the person, and the error that ended it."""

    samples: list[Sampled]
    told: list[str]
    error: str | None
    text: str
    marks: int  # snapshots of counters that were taken and not given back

    def values(self, uuid: str, metric: str) -> list[tuple[float, float]]:
        """List (seconds, value) of one metric of one card, in order."""
        return [(s.t_s, s.value) for s in self.samples if (s.uuid, s.metric) == (uuid, metric)]

    def metrics(self, uuid: str) -> set[str]:
        """Name the metrics that a card has at least one point of."""
        return {s.metric for s in self.samples if s.uuid == uuid}


def card_line(number: int, uuid: str) -> str:
    """Write the time line's first line of an idle, empty card with 80 GB."""
    return (
        f"0 {number} uuid={uuid} bus=00000000:0{number + 1}:00.0 name=Test-H100 total=81559 reserved=480 "
        "power=68600 limit=700000 energy=5000"
    )


class FailingBinding:
    """A driver of plain cards; `codes[index, call]` is the error that this call answers on that card."""

    def __init__(self, cards: int) -> None:
        self.cards = cards
        self.codes: dict[tuple[int, str], int] = {}

    def start(self) -> None:
        """Connect: nothing to do."""

    def stop(self) -> None:
        """Let go: nothing to do."""

    def count(self) -> int:
        """Give the number of cards."""
        return self.cards

    def handle(self, index: int) -> Handle:
        """Give the index as the handle."""
        return self._answer(index, "handle", index)

    def card(self, handle: Handle, index: int) -> Card:
        """Name a card after its index."""
        return self._answer(handle, "card", Card(f"GPU-{handle}", f"bus-{handle}", index, "Test"))

    def utilization(self, handle: Handle) -> Utilization:
        """Say half busy."""
        return self._answer(handle, "utilization", Utilization(50, 10))

    def memory(self, handle: Handle) -> Memory:
        """Say half full."""
        return self._answer(handle, "memory", Memory(80 << 30, 40 << 30, 1 << 29))

    def power_mw(self, handle: Handle) -> int:
        """Say 300 W."""
        return self._answer(handle, "power", 300_000)

    def power_limit_mw(self, handle: Handle) -> int:
        """Say 700 W."""
        return self._answer(handle, "power_limit", 700_000)

    def energy_mj(self, handle: Handle) -> int:
        """Say one kilojoule."""
        return self._answer(handle, "energy", 1_000_000)

    def is_split(self, handle: Handle) -> bool:
        """Say whole."""
        return self._answer(handle, "is_split", False)

    def processes(self, handle: Handle) -> list[Process]:
        """List one process."""
        return self._answer(handle, "processes", [Process(1, 40 << 30)])

    def _answer(self, index: int, call: str, value: T) -> T:
        code = self.codes.get((index, call))
        if code:
            raise DriverError(code, call)
        return value


class Receiver:
    """A collector that keeps requests in memory; `answers` are given first, one a request, then 200."""

    def __init__(self, answers: list[tuple[int, dict[str, str]]] | None = None, rejects: int = 0) -> None:
        self.answers = list(answers or [])
        self.rejects = rejects
        self.requests: list[ExportMetricsServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.arrived = threading.Condition()
        self.url = ""

    def wait_for(self, requests: int, patience_s: float = 10) -> bool:
        """Wait until that many requests were taken."""
        with self.arrived:
            return self.arrived.wait_for(lambda: len(self.requests) >= requests, patience_s)

    def points(self) -> list[tuple[str, dict[str, Any], int, float]]:
        """List metric (without prefix), attributes, time and value of every point taken."""
        return [
            (
                metric.name.removeprefix(PREFIX),
                _attributes(point.attributes),
                point.time_unix_nano,
                point.as_double,
            )
            for request in self.requests
            for of_resource in request.resource_metrics
            for of_scope in of_resource.scope_metrics
            for metric in of_scope.metrics
            for point in (*metric.gauge.data_points, *metric.sum.data_points)
        ]

    def resources(self) -> list[dict[str, Any]]:
        """List the resource attributes of each request."""
        return [
            _attributes(r.resource.attributes) for request in self.requests for r in request.resource_metrics
        ]

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Answer one request."""
        with self.arrived:
            self.headers.append(headers)
            self.paths.append(path)
            if self.answers:
                status, extra = self.answers.pop(0)
                if status != 200:  # noqa: PLR2004
                    return status, extra, b""
            plain = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
            self.requests.append(ExportMetricsServiceRequest.FromString(plain))
            self.arrived.notify_all()
        response = ExportMetricsServiceResponse()
        response.partial_success.rejected_data_points = self.rejects
        return 200, {"content-type": "application/x-protobuf"}, response.SerializeToString()


@contextmanager
def serving(receiver: Receiver, port: int = 0) -> Iterator[Receiver]:
    """Serve a receiver over real HTTP on loopback; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            headers = {key.lower(): value for key, value in self.headers.items()}
            status, extra, body = receiver.take(self.path, headers, self.rfile.read(length))
            self.send_response(status)
            for key, value in {**extra, "content-length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
