"""One figure at a time: what is accepted, what a query finds, how long an answer and a report take."""

import time
from dataclasses import asdict, dataclass

from benchmarks.ingest.bodies import Bodies
from benchmarks.ingest.senders import Load, send
from benchmarks.ingest.targets import Target
from benchmarks.ingest.usage import Peak, cpu_s, disk_bytes

_MILLION = 1_000_000
_WARM_UP_FIRST = 1 << 40  # numbers of bodies that no measured run uses
_SETTLE_S = 600.0


@dataclass(frozen=True)
class Shape:
    """How requests look and travel."""

    transport: str = "http"
    encoding: str = "protobuf"
    gzip: bool = False
    spans: int = 512
    connections: int = 4

    def bodies(self) -> Bodies:
        """Make the requests of this shape."""
        return Bodies(self.spans, as_json=self.encoding == "json", compressed=self.gzip)

    def port(self, target: Target) -> int:
        """Which of the target's ports they go to."""
        return target.grpc_port if self.transport == "grpc" else target.http_port


@dataclass(frozen=True)
class Accepted:
    """What a closed loop of senders got through in one shape."""

    target: str
    transport: str
    encoding: str
    gzip: bool
    spans: int
    connections: int
    spans_per_s: float
    refused: int
    p50_ms: float
    p99_ms: float
    cpu_s_per_million: float
    peak_mib: float


def accepted(target: Target, shape: Shape, seconds: float, first: int = 0) -> Accepted:
    """Send as fast as the target answers; a second of warming up is not counted."""
    bodies, port = shape.bodies(), shape.port(target)
    send(port, bodies, Load(shape.transport, shape.connections, 1.0), _WARM_UP_FIRST + first)
    before_s = cpu_s(target.pids)
    with Peak(target.pids) as peak:
        sent = send(port, bodies, Load(shape.transport, shape.connections, seconds), first)
    used_s = cpu_s(target.pids) - before_s
    if not sent.spans:
        message = f"{target.name} took nothing of {shape}: the run is invalid"
        raise RuntimeError(message)
    return Accepted(
        target=target.name,
        **asdict(shape),
        spans_per_s=sent.spans_per_s,
        refused=sent.refused,
        p50_ms=sent.answer_s(0.5) * 1_000,
        p99_ms=sent.answer_s(0.99) * 1_000,
        cpu_s_per_million=used_s / sent.spans * _MILLION,
        peak_mib=peak.mib,
    )


@dataclass(frozen=True)
class Stored:
    """What became rows that a query finds, at a given rate of sending."""

    target: str
    offered_spans_per_s: float
    accepted_spans_per_s: float
    stored_spans_per_s: float
    backlog_spans: int  # accepted and not yet stored when the sending ended
    drained_s: float
    missing_spans: int  # accepted, and not found when nothing more had come for half a minute
    p99_ms: float
    cpu_s_per_million: float
    disk_bytes_per_million: float
    peak_mib: float


def stored(target: Target, spans_per_s: float, seconds: float) -> Stored:
    """Send at a rate, then wait until everything is found, and tell the rate of that whole time."""
    shape = Shape()
    before = target.stored_spans()
    before_s, before_bytes = cpu_s(target.pids), disk_bytes(target.folder)
    start = time.perf_counter()
    with Peak(target.pids) as peak:
        sent = send(shape.port(target), shape.bodies(), Load("http", shape.connections, seconds, spans_per_s))
        backlog = sent.spans - (target.stored_spans() - before)
        found = _wait_for(target, before + sent.spans)
    took_s = time.perf_counter() - start
    return Stored(
        target=target.name,
        offered_spans_per_s=spans_per_s,
        accepted_spans_per_s=sent.spans_per_s,
        stored_spans_per_s=(found - before) / took_s,
        backlog_spans=backlog,
        drained_s=took_s - sent.elapsed_s,
        missing_spans=before + sent.spans - found,
        p99_ms=sent.answer_s(0.99) * 1_000,
        cpu_s_per_million=(cpu_s(target.pids) - before_s) / sent.spans * _MILLION,
        disk_bytes_per_million=(disk_bytes(target.folder) - before_bytes) / sent.spans * _MILLION,
        peak_mib=peak.mib,
    )


def _wait_for(target: Target, spans: int) -> int:
    """Wait until that many spans are found, or until no more come for a while; return how many there are."""
    found, last_s = target.stored_spans(), time.perf_counter()
    start_s = last_s
    while found < spans and time.perf_counter() - last_s < 30 and time.perf_counter() - start_s < _SETTLE_S:  # noqa: PLR2004
        time.sleep(0.25)
        now = target.stored_spans()
        if now != found:
            found, last_s = now, time.perf_counter()
    return found
