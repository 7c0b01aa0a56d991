"""What the sampler asks of a driver, in plain values: the real driver and a simulated one answer it."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Handle = Any  # whatever the binding gave for a card; void after a re-enumeration


class DriverError(Exception):
    """A call that the driver refused, with NVML's own return code."""

    def __init__(self, code: int, call: str) -> None:
        super().__init__(f"{call} answered {code}")
        self.code = code
        self.call = call


@dataclass(frozen=True, slots=True)
class Card:
    """One card, or a slice of one, as it names itself; (host, uuid, bus_id) is its key, the index is not."""

    uuid: str
    bus_id: str | None
    index: int
    name: str | None
    parent_uuid: str | None = None  # of a slice (a MIG instance): the card that it is cut from
    slices: int | None = None  # of a slice: how many compute slices of the card it has


class Utilization(NamedTuple):
    """Busy share of the driver's last period (1 s to 1/6 s by product), in percent."""

    gpu_percent: int
    memory_percent: int


class Memory(NamedTuple):
    """Frame buffer in bytes; `used` is without the driver's reserve, None where that cannot be told apart."""

    total_bytes: int
    used_bytes: int | None
    reserved_bytes: int | None


class Process(NamedTuple):
    """One process that holds memory; the pid is the host's, even when asked from a container."""

    pid: int
    memory_bytes: int | None


class Binding(Protocol):
    """A driver. Every method raises DriverError where the driver refuses; handles come from `handle`."""

    def start(self) -> None:
        """Connect to the driver."""
        ...

    def stop(self) -> None:
        """Let the driver go; every handle is void afterwards."""
        ...

    def count(self) -> int:
        """Cards the driver lists, lost ones perhaps included."""
        ...

    def handle(self, index: int) -> Handle:
        """Open the card that is at `index` now."""
        ...

    def card(self, handle: Handle, index: int) -> Card:
        """Ask a card who it is."""
        ...

    def utilization(self, handle: Handle) -> Utilization:
        """Ask how busy the card was."""
        ...

    def memory(self, handle: Handle) -> Memory:
        """Ask how its memory is divided."""
        ...

    def power_mw(self, handle: Handle) -> int:
        """Ask what it draws, in milliwatts."""
        ...

    def power_limit_mw(self, handle: Handle) -> int:
        """Ask what it may draw at most, in milliwatts."""
        ...

    def energy_mj(self, handle: Handle) -> int:
        """Ask for the millijoules since the driver was loaded; falls back when it is loaded again."""
        ...

    def is_split(self, handle: Handle) -> bool:
        """Ask whether the card is cut into MIG instances, whose processes the whole card may not list."""
        ...

    def processes(self, handle: Handle) -> list[Process]:
        """List the processes that hold its memory, each once."""
        ...
