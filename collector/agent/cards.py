"""Which cards there are: listed once and again after an error, known by uuid and bus id, never forgotten."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from collector.agent.binding import Binding, Card, DriverError, Handle
from collector.agent.deep import DeepBinding, Mark
from collector.agent.owner import Ticket
from collector.agent.reactions import reaction

Key = tuple[str, str | None]


@dataclass(slots=True)
class Pause:
    """A field that has no value for now: asked again at `until_ns`, after a longer pause each time."""

    until_ns: int
    length_ns: int


@dataclass(slots=True)
class Recall:
    """What the next look at a card needs of the last one; nobody but the driver's thread touches it."""

    busy_us: int = 0  # newest entry of the driver's record that was read
    busy_ns: int | None = None  # when
    process_us: int = 0
    mark: Mark | None = None
    mark_ns: int = 0
    can_mark: bool | None = None
    has_module: bool | None = None


@dataclass(slots=True)
class KnownCard:
    """A card or slice that answered once; without a handle it is lost, with a `hung` call unknown."""

    card: Card
    handle: Handle | None
    told_facts: bool = False
    pauses: dict[str, Pause] = field(default_factory=dict)
    recall: Recall = field(default_factory=Recall)
    hung: Ticket[Any] | None = None
    stale_since_ns: dict[str, int] = field(default_factory=dict)  # fields that said "list the cards again"


@dataclass(slots=True)
class Listing:
    """What the driver listed, cards and slices; `unsure` are cards whose slices it did not tell."""

    found: dict[Key, tuple[Card, Handle]] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)


class Cards:
    """The cards of one machine. A card that stops being listed is lost, not gone: it is still billed.

    A slice that stops being listed while its card answers was taken away by somebody, and is forgotten.
    """

    def __init__(self, binding: Binding, tell: Callable[[str], None]) -> None:
        self._binding = binding
        self._deep = binding if isinstance(binding, DeepBinding) else None
        self._tell = tell
        self._known: dict[Key, KnownCard] = {}
        self._silent: set[tuple[str, int]] = set()  # what was told of already

    def __iter__(self) -> Iterator[KnownCard]:
        return iter(tuple(self._known.values()))

    def any_lost(self) -> bool:
        """Tell whether a card that was there does not answer now."""
        return any(known.handle is None for known in self._known.values())

    def listing(self) -> Listing:
        """Ask the driver which cards there are; changes nothing here, so it may be left behind when it hangs.

        Raises:
            DriverError: the driver itself does not answer; what one card answers stays with that card.
        """
        listed = Listing()
        for index in range(self._binding.count()):
            opened = self._open(index)
            if opened:
                card, handle = opened
                listed.found[card.uuid, card.bus_id] = opened
                self._add_slices(listed, card, handle)
        return listed

    def renew(self, listed: Listing, *, again: bool) -> list[KnownCard]:
        """Take over what was listed: new handles and indexes, facts told `again`; missing cards are lost.

        Returns:
            the slices that are there no more.
        """
        gone = [self._known.pop(key) for key in self._taken_away(listed)]
        for key, known in self._known.items():
            if key not in listed.found and known.card.parent_uuid not in listed.unsure:
                self.lose(known)
        for key, (card, handle) in listed.found.items():
            known = self._known.setdefault(key, KnownCard(card, handle))
            known.told_facts = known.told_facts and known.handle is not None and not again
            known.card, known.handle = card, handle
        return gone

    def lose(self, known: KnownCard) -> None:
        """Mark a card as lost, and say so once."""
        if known.handle is not None:
            self._tell(
                f"GPU {known.card.uuid} ({known.card.bus_id}) is lost; it is billed until it is released"
            )
        known.handle = None
        known.told_facts = False

    def _taken_away(self, listed: Listing) -> list[Key]:
        whole = {uuid for uuid, _ in listed.found} - listed.unsure
        away = [
            key
            for key, known in self._known.items()
            if key not in listed.found and known.card.parent_uuid in whole
        ]
        for uuid, _ in away:
            self._tell(f"MIG instance {uuid} was taken away; it is held no more")
        return away

    def _open(self, index: int) -> tuple[Card, Handle] | None:
        try:
            handle = self._binding.handle(index)
            return self._binding.card(handle, index), handle
        except DriverError as error:
            self._blame(f"GPU at index {index}", error)
            return None

    def _add_slices(self, listed: Listing, card: Card, handle: Handle) -> None:
        try:
            if self._deep and self._deep.is_split(handle):
                for slice_card, slice_handle in self._deep.slices(handle, card):
                    listed.found[slice_card.uuid, slice_card.bus_id] = slice_card, slice_handle
        except DriverError as error:
            self._blame(f"GPU {card.uuid}, asked for its MIG instances,", error)
            listed.unsure.add(card.uuid)

    def _blame(self, who: str, error: DriverError) -> None:
        """Tell once who does not answer; what concerns the driver itself is raised."""
        met = reaction(error.code)
        if met.kind in ("restart", "no_driver", "mismatch"):
            raise error
        if (who, error.code) not in self._silent:
            self._silent.add((who, error.code))
            hint = f"; {met.hint}" if met.hint else ""
            self._tell(f"{who} does not answer ({error.call}: {met.name}{hint})")
