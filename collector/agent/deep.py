"""What newer drivers tell beyond the basics; a binding that has all of it is asked for all of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from collector.agent.binding import Binding, Card, Handle

Mark = Any  # a snapshot of a card's hardware counters; belongs to the driver until it is freed


class Reading(NamedTuple):
    """One entry of the driver's record: the busy share of its period up to `t_us` (since 1970)."""

    t_us: int
    percent: int


class ProcessLoad(NamedTuple):
    """How much of the card's multiprocessor time one process took in the driver's last period."""

    pid: int
    t_us: int
    sm_percent: int


class Loads(NamedTuple):
    """Percent of the time between two marks, None where the card does not tell.

    `graphics`: any kernel was resident; `sm`: multiprocessors busy, of all; `tensor`: tensor cores in use;
    `dram`: memory bandwidth used, of the most that is possible.
    """

    graphics: float | None
    sm: float | None
    tensor: float | None
    dram: float | None


class Powers(NamedTuple):
    """Milliwatts of the card alone and of its whole module, CPU included, where they are told apart."""

    card_mw: int | None
    module_mw: int | None


class Links(NamedTuple):
    """Traffic: PCIe as kB/s over 20 ms, NVLink as KiB counted over all links since the driver was loaded."""

    pcie_tx_kb_s: int | None
    pcie_rx_kb_s: int | None
    nvlink_tx_kib: int | None
    nvlink_rx_kib: int | None


class Fault(NamedTuple):
    """A critical error that the driver reported for a card: NVIDIA's Xid number."""

    uuid: str
    xid: int


@runtime_checkable
class DeepBinding(Binding, Protocol):
    """A driver with everything. Every method raises DriverError where the driver refuses."""

    def slices(self, handle: Handle, card: Card) -> list[tuple[Card, Handle]]:
        """List the MIG instances that a cut card has now."""
        ...

    def busy_since(self, handle: Handle, t_us: int) -> list[Reading]:
        """List what the driver recorded after `t_us` (0: all it keeps); empty is nothing new."""
        ...

    def can_mark(self, handle: Handle) -> bool:
        """Tell whether `mark` can be asked of this card at all: Hopper and later."""
        ...

    def mark(self, handle: Handle) -> Mark:
        """Take a snapshot of the hardware counters; `free` it once."""
        ...

    def free(self, mark: Mark) -> None:
        """Give a snapshot back."""
        ...

    def loads(self, before: Mark, after: Mark) -> Loads:
        """Compare two snapshots of one card, more than 100 ms apart."""
        ...

    def powers(self, handle: Handle) -> Powers:
        """Ask what is drawn by the card, and by the module where there is one."""
        ...

    def process_loads(self, handle: Handle, t_us: int) -> list[ProcessLoad]:
        """List processes that computed after `t_us`; one that did not is not in it."""
        ...

    def links(self, handle: Handle) -> Links:
        """Measure traffic; blocks for some 40 ms."""
        ...

    def watch(self, cards: Mapping[str, Handle]) -> None:
        """Hear of critical errors of these cards (by uuid) from now on, and of no others."""
        ...

    def faults(self) -> list[Fault]:
        """Take the critical errors that were reported since the last call; never waits."""
        ...
