"""One look at every card: what it answered becomes samples, what it refused becomes a reaction."""

from collections.abc import Callable
from typing import NamedTuple

from collector.agent.binding import Binding, Card, DriverError
from collector.agent.cards import Cards, KnownCard, Pause
from collector.agent.fields import FIELDS, Field, Point
from collector.agent.reactions import reaction
from taximeter.clock import NS_PER_S, Clock
from taximeter.errors import TaximeterError
from taximeter.say import say

_RETRY_S = 60  # a field that a card does not support is asked again this seldom, never given up
_RELIST_S = 10  # how often a lost card or driver is looked for


class NoDriverError(TaximeterError):
    """This machine has no NVIDIA driver: nothing to sample, and nothing wrong."""

    exit_status = 0


class DriverMismatchError(TaximeterError):
    """The driver was replaced while it ran; nothing can be read until the machine restarts."""

    exit_status = 3


class Sample(NamedTuple):
    """One figure of one card at one instant; `metric` is a key of warehouse.rows.GPU_METRICS."""

    card: Card
    metric: str
    t_ns: int
    value: float
    pid: int | None = None


class _CardLostError(Exception):
    pass


class _StaleError(Exception):
    pass


class Sampler:
    """Reads all cards of one machine through one binding. One thread owns it, from `start` to `stop`."""

    def __init__(
        self,
        binding: Binding,
        clock: Clock,
        *,
        process_interval_s: float = 5.0,
        tell: Callable[[str], None] = say,
    ) -> None:
        """Wire up; nothing is asked before `start`. A process list costs milliseconds, so it is seldom."""
        self._binding = binding
        self._clock = clock
        self._slow_ns = round(process_interval_s * NS_PER_S)
        self._tell = tell
        self._cards = Cards(binding, tell)
        self._next_slow_ns = 0
        self._relist_ns: int | None = None
        self._connected = False
        self._hinted: set[tuple[str, str, str]] = set()

    def start(self) -> int:
        """Connect, enumerate, and return how many cards can be read.

        Raises:
            NoDriverError: this machine has no NVIDIA driver.
            DriverMismatchError: driver and library do not match.
            TaximeterError: the driver is there and does not start.
        """
        try:
            self._connect()
        except DriverError as error:
            met = reaction(error.code)
            if met.kind == "no_driver":
                looked = "looked for libnvidia-ml.so.1"
                message = f"no NVIDIA driver here ({error.call}: {met.name}, {looked}): nothing to sample"
                raise NoDriverError(message) from None
            message = f"the NVIDIA driver does not start: {error.call}: {met.name}"
            raise TaximeterError(message) from None
        return sum(1 for _ in self._cards)

    def stop(self) -> None:
        """Let the driver go."""
        if self._connected:
            self._connected = False
            try:
                self._binding.stop()
            except DriverError:
                return

    def sample(self) -> list[Sample]:
        """Look at every card once; an empty list if the driver does not answer now.

        Raises:
            DriverMismatchError: the driver was replaced under us.
        """
        now_ns = self._clock.now_ns()
        self._mend(now_ns)
        if not self._connected:
            return []
        is_slow = now_ns >= self._next_slow_ns
        if is_slow:
            self._next_slow_ns = now_ns + self._slow_ns
        samples: list[Sample] = []
        for known in self._cards:
            points = self._look(known, now_ns, is_slow=is_slow)
            samples += [Sample(known.card, point.metric, now_ns, point.value, point.pid) for point in points]
        return samples

    def _look(self, known: KnownCard, now_ns: int, *, is_slow: bool) -> list[Point]:
        if known.handle is None:
            return [Point("up", 0)]
        points: list[Point] = []
        answered = False
        try:
            for field in FIELDS:
                if _is_due(field, known, now_ns, is_slow=is_slow):
                    answer = self._read(field, known, now_ns)
                    answered = answered or answer is not None
                    points += answer or []
        except _CardLostError:
            return [Point("up", 0)]
        except _StaleError:
            return []
        known.told_facts = True
        return [Point("up", 1), *points] if answered else []

    def _read(self, field: Field, known: KnownCard, now_ns: int) -> list[Point] | None:
        """Ask one field; None if the card gave no answer, an empty list if it answered without a value."""
        try:
            points = list(field.read(self._binding, known.handle))
        except DriverError as error:
            return self._react(error, field, known, now_ns)
        known.pauses.pop(field.name, None)
        return points

    def _react(self, error: DriverError, field: Field, known: KnownCard, now_ns: int) -> list[Point] | None:
        met = reaction(error.code)
        if met.kind == "lost":
            self._cards.lose(known)
            self._relist_ns = now_ns + _RELIST_S * NS_PER_S
            raise _CardLostError
        if met.kind == "mismatch":
            raise _mismatch(error)
        if met.kind in ("relist", "restart", "no_driver"):
            self._connected = met.kind == "relist"
            self._relist_ns = now_ns
            raise _StaleError
        self._hint(known.card, field, error)
        if met.kind == "unknown":
            known.pauses[field.name] = Pause(now_ns + _RETRY_S * NS_PER_S, _RETRY_S * NS_PER_S)
            return []
        before = known.pauses.get(field.name)
        length_ns = min(2 * before.length_ns, _RETRY_S * NS_PER_S) if before else NS_PER_S
        known.pauses[field.name] = Pause(now_ns + length_ns, length_ns)
        return None

    def _hint(self, card: Card, field: Field, error: DriverError) -> None:
        met = reaction(error.code)
        key = (card.uuid, field.name, met.name)
        if key not in self._hinted:
            self._hinted.add(key)
            hint = f"; {met.hint}" if met.hint else ""
            self._tell(f"GPU {card.uuid}: {field.name} is unknown ({error.call}: {met.name}{hint})")

    def _mend(self, now_ns: int) -> None:
        """Look again for what is lost: cards, or the driver itself."""
        if self._relist_ns is None or now_ns < self._relist_ns:
            return
        self._relist_ns = now_ns + _RELIST_S * NS_PER_S
        try:
            if self._connected:
                self._cards.renew()
            else:
                self._connect()
        except DriverError as error:
            self._connected = self._connected and reaction(error.code).kind not in ("restart", "no_driver")
            self._tell(f"the driver does not answer ({error}); trying again in {_RELIST_S} s")
            return
        if not self._cards.any_lost():
            self._relist_ns = None

    def _connect(self) -> None:
        try:
            self._binding.start()
            self._cards.renew()
        except DriverError as error:
            if reaction(error.code).kind == "mismatch":
                raise _mismatch(error) from None
            raise
        self._connected = True


def _is_due(field: Field, known: KnownCard, now_ns: int, *, is_slow: bool) -> bool:
    pause = known.pauses.get(field.name)
    if pause and now_ns < pause.until_ns:
        return False
    if field.rate == "once":
        return not known.told_facts or pause is not None
    return field.rate == "each" or is_slow


def _mismatch(error: DriverError) -> DriverMismatchError:
    message = (
        f"{error.call}: the NVIDIA driver was replaced and does not match its library any more; "
        "nothing can be read until this machine restarts"
    )
    return DriverMismatchError(message)
