"""Tick after tick: sample, name the processes, send every few seconds, and tell of itself."""

from collector.agent.offset import ClockOffset
from collector.agent.otlp import SERVICE, encode
from collector.agent.outbox import Outbox
from collector.agent.own import Own
from collector.agent.processes import Processes
from collector.agent.sampler import Sample, Sampler
from collector.agent.stop import Stop
from taximeter.clock import Clock

_SEND_S = 3.0  # samples are sent together: one request every few seconds
_CLOCK_S = 30.0  # how often the collector is asked for its time
_FIRST_CLOCK_S = 1.0  # the same while it has not answered yet
_PATIENCE_S = 5.0  # how long the last samples are tried for


class Rounds:
    """The agent's loop. A tick that came late is counted and left out, never made up for."""

    def __init__(
        self,
        sampler: Sampler | None,
        outbox: Outbox,
        offset: ClockOffset,
        processes: Processes,
        *,
        clock: Clock,
        interval_s: float,
    ) -> None:
        """Wire up; nothing starts before `run`. Without a sampler only the agent itself is told of."""
        self._sampler = sampler
        self._outbox = outbox
        self._offset = offset
        self._processes = processes
        self._clock = clock
        self._interval_s = interval_s
        self._own = Own(interval_s, clock.now_ns())
        self._pending: list[Sample] = []
        self._next_clock_s = clock.monotonic_s()

    def run(self, host: str, stop: Stop, look_s: float) -> int:
        """Go on until asked to stop; return how many requests stay undelivered.

        Raises:
            DriverMismatchError: the driver was replaced under us; what was sampled before is sent first.
        """
        resource: dict[str, str | bool] = {"host.name": host, "service.name": SERVICE}
        self._outbox.open()
        unsent = 0
        due_s = next_send_s = self._clock.monotonic_s()
        try:
            while not stop.asked:
                began_s = self._clock.monotonic_s()
                self._tick()
                ended_s = self._clock.monotonic_s()
                self._own.tick(began_s - due_s, ended_s - began_s)
                if ended_s >= next_send_s:
                    self._send(resource)
                    next_send_s = ended_s + _SEND_S
                # The next tick that is still to come.
                due_s += self._interval_s * (1 + max(0, int((ended_s - due_s) // self._interval_s)))
                stop.sleep(self._clock, due_s - self._clock.monotonic_s(), look_s)
        finally:
            self._send(resource)
            unsent = self._outbox.close(_PATIENCE_S)
            self._offset.close()
        return unsent

    def _tick(self) -> None:
        for sample in self._sampler.sample() if self._sampler else ():
            served = None if sample.pid is None else self._processes.served(sample.pid)
            self._pending.append(sample if served is None else sample._replace(served=served))
        if self._clock.monotonic_s() >= self._next_clock_s:
            self._offset.ask_aside()
            pause_s = _FIRST_CLOCK_S if self._offset.offset() is None else _CLOCK_S
            self._next_clock_s = self._clock.monotonic_s() + pause_s

    def _send(self, resource: dict[str, str | bool]) -> None:
        """Queue what was sampled with the agent's own figures: a heartbeat goes even where nothing was."""
        now_ns = self._clock.now_ns()
        offset = self._offset.offset()
        own = self._own.figures(
            waiting=self._outbox.waiting,
            dropped=self._outbox.dropped,
            hung=self._sampler.hung_cards if self._sampler else 0,
            offset=offset,
        )
        samples, self._pending = self._pending, []
        if offset is not None:
            cards = dict.fromkeys(sample.card for sample in samples)
            samples += [Sample(card, "clock_offset_s", now_ns, offset.offset_s) for card in cards]
        self._outbox.put(encode(samples, resource, own=own, own_times=(self._own.start_ns, now_ns)))
