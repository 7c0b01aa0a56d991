"""Samples arrive, whatever the receiver does in between."""

import socket
import time

from collector.agent.otlp import encode
from collector.agent.outbox import Outbox
from collector.agent.sampler import Sampler
from collector.agent.testing import FailingBinding, Receiver, serving
from taximeter.clock import SYSTEM_CLOCK, ManualClock

RESOURCE = {"host.name": "node-a", "service.name": "taximeter-agent"}


def _requests(number: int) -> list[bytes]:
    clock = ManualClock()
    sampler = Sampler(FailingBinding(1), clock, tell=lambda _: None)
    sampler.start()
    made = []
    for _ in range(number):
        clock.sleep(1)
        made.append(encode(sampler.sample(), RESOURCE))
    return made


def _times(receiver: Receiver) -> list[float]:
    return sorted({t_ns / 1e9 for _, _, t_ns, _ in receiver.points()})


def test_what_is_sent_is_what_was_sampled() -> None:
    """Names, units, card, host and value arrive as the contract says, compressed, on the metrics path."""
    with serving(Receiver()) as receiver:
        outbox = Outbox(receiver.url, SYSTEM_CLOCK, lambda _: None, headers={"authorization": "Bearer t"})
        outbox.open()
        outbox.put(_requests(1)[0])
        assert outbox.close(10) == 0
    assert receiver.paths == ["/v1/metrics"]
    assert receiver.headers[0]["content-encoding"] == "gzip"
    assert receiver.headers[0]["content-type"] == "application/x-protobuf"
    assert receiver.headers[0]["authorization"] == "Bearer t"
    assert receiver.resources() == [RESOURCE]
    card = {"gpu.uuid": "GPU-0", "gpu.bus_id": "bus-0", "gpu.index": 0, "gpu.name": "Test"}
    points = {metric: (attributes, t_ns, value) for metric, attributes, t_ns, value in receiver.points()}
    assert points["util_ratio"] == (card, 1_000_000_000, 0.5)
    assert points["process_memory_mib"] == ({**card, "process.pid": 1}, 1_000_000_000, 40960)
    assert points["memory_util_ratio"][2] == 0.1
    scope = receiver.requests[0].resource_metrics[0].scope_metrics[0]
    assert (scope.scope.name, scope.scope.attributes[0].value.string_value) == ("taximeter.agent", "nvml")
    energy = next(m for m in scope.metrics if m.name == "taximeter.gpu.energy_j")
    assert (energy.unit, energy.sum.is_monotonic, energy.sum.aggregation_temporality) == ("J", True, 2)


def test_busy_receiver_gets_everything_in_order() -> None:
    """429, 503 and a wait that the receiver asks for cost time, not samples."""
    busy = [(503, {}), (429, {"retry-after": "1"}), (200, {}), (502, {})]
    told: list[str] = []
    with serving(Receiver(busy)) as receiver:
        outbox = Outbox(receiver.url, SYSTEM_CLOCK, told.append)
        outbox.open()
        start = time.monotonic()
        for request in _requests(3):
            outbox.put(request)
        assert receiver.wait_for(3)
        assert time.monotonic() - start >= 1.5
        assert outbox.close(10) == 0
    assert _times(receiver) == [1, 2, 3]
    assert outbox.dropped == 0
    assert len(told) == 2


def test_receiver_that_starts_later_gets_what_was_kept() -> None:
    """Samples taken while nobody listened arrive once somebody does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outbox = Outbox(f"http://127.0.0.1:{port}", SYSTEM_CLOCK, lambda _: None)
    outbox.open()
    for request in _requests(2):
        outbox.put(request)
    time.sleep(0.2)
    with serving(Receiver(), port) as receiver:
        assert receiver.wait_for(2)
        assert outbox.close(10) == 0
    assert _times(receiver) == [1, 2]


def test_refused_request_does_not_block_the_next() -> None:
    """A request that the receiver will never take is counted, told and left behind."""
    told: list[str] = []
    with serving(Receiver([(400, {})])) as receiver:
        outbox = Outbox(receiver.url, SYSTEM_CLOCK, told.append)
        outbox.open()
        for request in _requests(2):
            outbox.put(request)
        assert outbox.close(10) == 0
    assert _times(receiver) == [2]
    assert outbox.dropped == 1
    assert "400" in told[0]


def test_full_memory_drops_the_oldest() -> None:
    """While nobody answers, memory stays bounded: the newest samples stay, the oldest go, and it is told."""
    told: list[str] = []
    outbox = Outbox("http://127.0.0.1:9", SYSTEM_CLOCK, told.append, limit_bytes=2_000)
    requests = _requests(40)
    for request in requests:
        outbox.put(request)
    assert 0 < outbox.dropped < 40
    assert sum("dropped" in line for line in told) == 1
    with serving(Receiver()) as receiver:
        late = Outbox(receiver.url, SYSTEM_CLOCK, told.append, limit_bytes=2_000)
        for request in requests:
            late.put(request)
        late.open()
        assert late.close(10) == 0
    assert _times(receiver) == list(range(late.dropped + 1, 41))


def test_points_that_were_left_out_are_told() -> None:
    """A receiver that takes a request only in part is not taken for one that took all of it."""
    told: list[str] = []
    with serving(Receiver(rejects=4)) as receiver:
        outbox = Outbox(receiver.url, SYSTEM_CLOCK, told.append)
        outbox.open()
        outbox.put(_requests(1)[0])
        assert outbox.close(10) == 0
    assert "left out 4 points" in told[0]
