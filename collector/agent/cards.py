"""Which cards there are: listed once and again after an error, known by uuid and bus id, never forgotten."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from collector.agent.binding import Binding, Card, DriverError, Handle
from collector.agent.reactions import reaction

Key = tuple[str, str | None]


@dataclass(slots=True)
class Pause:
    """A field that has no value for now: asked again at `until_ns`, after a longer pause each time."""

    until_ns: int
    length_ns: int


@dataclass(slots=True)
class KnownCard:
    """A card that answered at least once; without a handle it is lost."""

    card: Card
    handle: Handle | None
    told_facts: bool = False
    pauses: dict[str, Pause] = field(default_factory=dict)


class Cards:
    """The cards of one machine. A card that stops being listed is lost, not gone: it is still billed."""

    def __init__(self, binding: Binding, tell: Callable[[str], None]) -> None:
        self._binding = binding
        self._tell = tell
        self._known: dict[Key, KnownCard] = {}
        self._silent: set[tuple[int, int]] = set()  # index and code of cards that were told of already

    def __iter__(self) -> Iterator[KnownCard]:
        return iter(tuple(self._known.values()))

    def any_lost(self) -> bool:
        """Tell whether a card that was there does not answer now."""
        return any(known.handle is None for known in self._known.values())

    def renew(self) -> None:
        """List the cards again: handles and indexes are renewed, facts are told again, missing ones are lost.

        Raises:
            DriverError: the driver itself does not answer; what one card answers stays with that card.
        """
        found: dict[Key, KnownCard] = {}
        for index in range(self._binding.count()):
            opened = self._open(index)
            if opened:
                card, handle = opened
                key = (card.uuid, card.bus_id)
                known = self._known.get(key)
                found[key] = KnownCard(card, handle, pauses=known.pauses if known else {})
        for key, known in self._known.items():
            if key not in found:
                self.lose(known)
        self._known.update(found)

    def lose(self, known: KnownCard) -> None:
        """Mark a card as lost, and say so once."""
        if known.handle is not None:
            self._tell(
                f"GPU {known.card.uuid} ({known.card.bus_id}) is lost; it is billed until it is released"
            )
        known.handle = None
        known.told_facts = False

    def _open(self, index: int) -> tuple[Card, Handle] | None:
        try:
            handle = self._binding.handle(index)
            return self._binding.card(handle, index), handle
        except DriverError as error:
            met = reaction(error.code)
            if met.kind in ("restart", "no_driver", "mismatch"):
                raise
            if (index, error.code) not in self._silent:
                self._silent.add((index, error.code))
                hint = f"; {met.hint}" if met.hint else ""
                self._tell(f"GPU at index {index} does not answer ({error.call}: {met.name}{hint})")
            return None
