"""Connections that send as fast as they are answered, or at a given rate, and time every answer."""

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import grpc

from benchmarks.ingest.bodies import Bodies

_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_Send = Callable[[bytes], bool]


@dataclass
class Sent:
    """What one run sent: spans that were acknowledged, requests that were not, seconds for each answer."""

    spans: int = 0
    refused: int = 0
    elapsed_s: float = 0.0
    answers_s: list[float] = field(default_factory=list)

    @property
    def spans_per_s(self) -> float:
        """Acknowledged spans a second."""
        return self.spans / self.elapsed_s

    def answer_s(self, share: float) -> float:
        """The answer time that a share of the requests kept."""
        ordered = sorted(self.answers_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True)
class Load:
    """How to send: over http or grpc, on how many connections, how long, how fast (none: as can be)."""

    transport: str
    connections: int
    seconds: float
    spans_per_s: float | None = None


def send(port: int, bodies: Bodies, load: Load, first: int = 0) -> Sent:
    """Send bodies numbered from `first` until the time is up, and tell what became of them."""
    numbers = _Numbers(first)
    sent = Sent()
    lock = threading.Lock()
    start = time.perf_counter()
    pause_s = load.connections * bodies.spans / load.spans_per_s if load.spans_per_s else 0.0

    def work(which: int) -> None:
        one = _connect(port, bodies, load.transport)
        due = start + pause_s * which / load.connections
        while (now := time.perf_counter()) < start + load.seconds:
            if pause_s and due > now:
                time.sleep(min(due, start + load.seconds) - now)
                if time.perf_counter() >= start + load.seconds:
                    break
            body = bodies[numbers.take()]
            asked = time.perf_counter()
            taken = one(body)
            took = time.perf_counter() - asked
            due += pause_s
            with lock:
                sent.answers_s.append(took)
                sent.spans += bodies.spans if taken else 0
                sent.refused += not taken

    threads = [threading.Thread(target=work, args=(which,), daemon=True) for which in range(load.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent.elapsed_s = time.perf_counter() - start
    return sent


class _Numbers:
    """Numbers for bodies, each given once."""

    def __init__(self, first: int) -> None:
        self._next = first
        self._lock = threading.Lock()

    def take(self) -> int:
        with self._lock:
            self._next += 1
            return self._next


def _connect(port: int, bodies: Bodies, transport: str) -> _Send:
    return _grpc(port) if transport == "grpc" else _http(port, bodies.headers)


def _http(port: int, headers: dict[str, str]) -> _Send:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def one(body: bytes) -> bool:
        connection.request("POST", "/v1/traces", body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status == http.client.OK

    return one


def _grpc(port: int) -> _Send:
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    call = grpc.insecure_channel(f"127.0.0.1:{port}", options).unary_unary(_METHOD)

    def one(body: bytes) -> bool:
        try:
            call(body, timeout=30)
        except grpc.RpcError:
            return False
        return True

    return one
