"""One look at every card: what it answered becomes samples, what it refused becomes a reaction."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from collector.agent.binding import Binding, Card, DriverError
from collector.agent.cards import Cards, KnownCard, Pause, Recall
from collector.agent.deep import DeepBinding
from collector.agent.deep_fields import deep_fields, free_marks
from collector.agent.fields import BASIC_FIELDS, Field, Look, Point
from collector.agent.look import Answer, is_due, read
from collector.agent.owner import HungError, Inline, Owner, Ticket
from collector.agent.reactions import reaction
from collector.agent.served import Served
from taximeter.clock import NS_PER_S, Clock
from taximeter.errors import TaximeterError
from taximeter.say import say

_RETRY_S = 60  # a field that a card does not support is asked again this seldom, never given up
_RELIST_S = 10  # how often a lost card or driver is looked for
_REVIEW_S = 60  # how often the list is read though nothing is wrong: cards and slices come and go
_FIRST_PATIENCE_S = 60.0  # a driver without persistence takes long to wake
_PATIENCE_S = 10.0


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
    served: Served | None = None


class _CardLostError(Exception):
    pass


class _StaleError(Exception):
    pass


class Sampler:
    """Reads all cards of one machine through one binding, whose calls are all made by one owner."""

    def __init__(
        self,
        binding: Binding,
        clock: Clock,
        *,
        interval_s: float = 1.0,
        process_interval_s: float = 5.0,
        links: bool = False,
        owner: Owner | None = None,
        tell: Callable[[str], None] = say,
    ) -> None:
        """Wire up; nothing is asked before `start`. A process list costs milliseconds, so it is seldom.

        `links` adds NVLink and PCIe traffic, whose calls block for 40 ms a card. A binding that is a
        DeepBinding is asked for all that it can tell. `owner` makes the calls: by default the caller itself.
        """
        self._binding = binding
        self._deep = binding if isinstance(binding, DeepBinding) else None
        self._fields = deep_fields(self._deep, links=links) if self._deep else BASIC_FIELDS
        self._clock = clock
        self._interval_ns = round(interval_s * NS_PER_S)
        self._slow_ns = round(process_interval_s * NS_PER_S)
        self._owner = owner or Inline()
        self._tell = tell
        self._cards = Cards(binding, tell)
        self._next_slow_ns = 0
        self._relist_ns: int | None = None
        self._review_ns = 0
        self._again = True
        self._connected = False
        self._hinted: set[tuple[str, str, str]] = set()
        self._watched: set[str] = set()
        self._deaf_until_ns = 0
        self._hung: Ticket[Any] | None = None  # a call about the whole driver that did not return

    @property
    def hung_cards(self) -> int:
        """Cards and slices whose driver does not return from a call; they are unknown meanwhile."""
        return sum(known.hung is not None for known in self._cards)

    def start(self) -> int:
        """Connect, enumerate, and return how many cards and slices can be read.

        Raises:
            NoDriverError: this machine has no NVIDIA driver.
            DriverMismatchError: driver and library do not match.
            TaximeterError: the driver is there and does not start.
        """
        try:
            self._connect(_FIRST_PATIENCE_S)
        except HungError as error:
            message = f"the NVIDIA driver does not start: {error}"
            raise TaximeterError(message) from None
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
        """Let the driver go, unless a call hangs in it: that would crash."""
        try:
            if self._connected and not self._owner.is_stuck():
                self._owner.ask(self._let_go)
        except (DriverError, HungError):
            return
        finally:
            self._connected = False
            self._owner.close()

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
            # A card that hung took its patience: the next one is looked at that much later.
            at_ns = self._clock.now_ns()
            points = self._look(known, at_ns, is_slow=is_slow)
            samples += [Sample(known.card, point.metric, at_ns, point.value, point.pid) for point in points]
        return samples + self._faults(now_ns)

    def _look(self, known: KnownCard, now_ns: int, *, is_slow: bool) -> list[Point]:
        if known.handle is None:
            return [Point("up", 0)]
        if known.hung is not None:
            if not known.hung.is_back():
                return []
            # What the abandoned call recalled is of no use, and its thread may have written to it.
            known.hung, known.recall, known.told_facts = None, Recall(), False
        due = [field for field in self._fields if is_due(field, known, now_ns, is_slow=is_slow)]
        is_slice = known.card.parent_uuid is not None
        look = Look(self._binding, known.handle, known.recall, now_ns, self._interval_ns, is_slice)
        try:
            return self._judge(known, self._owner.ask(partial(read, due, look)), now_ns)
        except HungError as error:
            known.hung = error.ticket
            self._tell(f"GPU {known.card.uuid}: {error}; it is unknown until that returns")
            return []

    def _judge(self, known: KnownCard, answers: list[Answer], now_ns: int) -> list[Point]:
        """Take what was answered; a card that answered nothing at all is neither up nor lost."""
        points: list[Point] = []
        answered = False
        try:
            for field, told, error in answers:
                if error is None:
                    known.pauses.pop(field.name, None)
                    known.stale_since_ns.pop(field.name, None)
                answered = (error is None or self._react(error, field, known, now_ns)) or answered
                points += told
        except _CardLostError:
            return [Point("up", 0)]
        except _StaleError:
            return []
        known.told_facts = True
        return [Point("up", 1), *points] if answered else []

    def _react(self, error: DriverError, field: Field, known: KnownCard, now_ns: int) -> bool:
        """Do what the table says; true where the card answered, though without a value."""
        met = reaction(error.code)
        if met.kind == "lost":
            self._cards.lose(known)
            self._relist_ns = now_ns + _RELIST_S * NS_PER_S
            raise _CardLostError
        if met.kind == "mismatch":
            raise _mismatch(error)
        if met.kind in ("restart", "no_driver") or (met.kind == "relist" and _is_news(known, field, now_ns)):
            self._connected = met.kind == "relist"
            self._relist_ns, self._again = now_ns, True
            raise _StaleError
        if met.kind == "later":
            before = known.pauses.get(field.name)
            length_ns = min(2 * before.length_ns, _RETRY_S * NS_PER_S) if before else NS_PER_S
        else:
            length_ns = _RETRY_S * NS_PER_S
        self._hint(known.card, field, error)
        known.pauses[field.name] = Pause(now_ns + length_ns, length_ns)
        return met.kind != "later"

    def _hint(self, card: Card, field: Field, error: DriverError) -> None:
        met = reaction(error.code)
        key = (card.uuid, field.name, met.name)
        if key in self._hinted or (field.quiet and met.kind == "unknown"):
            return
        self._hinted.add(key)
        hint = f"; {met.hint}" if met.hint else ""
        self._tell(f"GPU {card.uuid}: {field.name} is unknown ({error.call}: {met.name}{hint})")

    def _faults(self, now_ns: int) -> list[Sample]:
        """Hear what the driver reported; of one tick each fault gets an instant of its own."""
        if self._deep is None or now_ns < self._deaf_until_ns or self._is_hung():
            return []
        try:
            faults = self._owner.ask(self._deep.faults)
        except DriverError:
            self._deaf_until_ns = now_ns + _RETRY_S * NS_PER_S
            return []
        except HungError as error:
            self._hung = error.ticket
            return []
        cards = {known.card.uuid: known.card for known in self._cards}
        return [
            Sample(cards[fault.uuid], "xid", now_ns + place, fault.xid)
            for place, fault in enumerate(faults)
            if fault.uuid in cards
        ]

    def _mend(self, now_ns: int) -> None:
        """List the cards again when something is lost or stale, and now and then when nothing is."""
        is_wrong = self._relist_ns is not None
        if now_ns < (self._review_ns if self._relist_ns is None else self._relist_ns) or self._is_hung():
            return
        self._relist_ns = now_ns + _RELIST_S * NS_PER_S if is_wrong else None
        try:
            if self._connected:
                self._renew(now_ns, _PATIENCE_S)
            else:
                self._connect(_PATIENCE_S)
        except HungError as error:
            self._hung = error.ticket
            self._tell(f"the driver does not list its cards ({error}); those that answer are sampled on")
            return
        except DriverError as error:
            if reaction(error.code).kind == "mismatch":
                raise _mismatch(error) from None
            self._connected = self._connected and reaction(error.code).kind not in ("restart", "no_driver")
            self._relist_ns = now_ns + _RELIST_S * NS_PER_S
            self._tell(f"the driver does not answer ({error}); trying again in {_RELIST_S} s")
            return
        if not self._cards.any_lost():
            self._relist_ns = None

    def _connect(self, patience_s: float) -> None:
        try:
            self._owner.ask(self._binding.start, patience_s)
            self._again = True
            self._renew(self._clock.now_ns(), patience_s)
        except DriverError as error:
            if reaction(error.code).kind == "mismatch":
                raise _mismatch(error) from None
            raise
        self._connected = True

    def _renew(self, now_ns: int, patience_s: float) -> None:
        self._review_ns = now_ns + _REVIEW_S * NS_PER_S
        listed = self._owner.ask(self._cards.listing, patience_s)
        for gone in self._cards.renew(listed, again=self._again):
            self._owner.ask(partial(self._free, gone))
        whole = {k.card.uuid: k.handle for k in self._cards if k.handle and k.card.parent_uuid is None}
        if self._deep and (self._again or whole.keys() != self._watched):
            self._watch(self._deep, whole)
        self._again = False

    def _watch(self, deep: DeepBinding, whole: dict[str, Any]) -> None:
        """Hear of faults of these cards; a driver that has no events is asked again at the next review."""
        try:
            self._owner.ask(partial(deep.watch, whole))
        except DriverError:
            self._watched = set()
        else:
            self._watched = set(whole)

    def _is_hung(self) -> bool:
        if self._hung is not None and self._hung.is_back():
            self._hung = None
        return self._hung is not None

    def _let_go(self) -> None:
        for known in self._cards:
            self._free(known)
        self._binding.stop()

    def _free(self, known: KnownCard) -> None:
        if self._deep and known.hung is None:
            free_marks(self._deep, known.recall)


def _is_news(known: KnownCard, field: Field, now_ns: int) -> bool:
    """Tell a handle that is stale from a question that this card always answers so, list or not."""
    before_ns = known.stale_since_ns.get(field.name)
    known.stale_since_ns[field.name] = now_ns
    return before_ns is None or now_ns - before_ns > 2 * _RETRY_S * NS_PER_S


def _mismatch(error: DriverError) -> DriverMismatchError:
    message = (
        f"{error.call}: the NVIDIA driver was replaced and does not match its library any more; "
        "nothing can be read until this machine restarts"
    )
    return DriverMismatchError(message)
