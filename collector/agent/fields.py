"""What every driver is asked, how often, and in which unit it is handed on."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from collector.agent.binding import Binding, DriverError, Handle, Process
from collector.agent.cards import Recall
from collector.agent.reactions import reaction

Rate = Literal["each", "slow", "once"]
Of = Literal["card", "slice", "both"]

PERCENT = 100
_MIB = 1 << 20
_MILLI = 1000
_NOT_SUPPORTED = 3  # what a card without memory of its own answers
# An empty list beside more memory than this means processes that we may not see, not an empty card.
_UNSEEN_BYTES = 64 * _MIB


class Point(NamedTuple):
    """One figure of one card: `metric` is a key of warehouse.rows.GPU_METRICS."""

    metric: str
    value: float
    pid: int | None = None


class Look(NamedTuple):
    """One look at one card: what to ask, through which handle, beside what was recalled, and when."""

    binding: Binding
    handle: Handle
    recall: Recall
    now_ns: int
    interval_ns: int
    is_slice: bool = False


class Field(NamedTuple):
    """One question to a card. `each`: at every tick, `slow`: every few, `once`: after an enumeration.

    `of` says whether whole cards are asked, slices of cards, or both. Where it is `quiet`, a card that does
    not support it is normal, and nobody is told.
    """

    name: str
    rate: Rate
    read: Callable[[Look], Iterator[Point]]
    of: Of = "card"
    quiet: bool = False


def utilization(look: Look) -> Iterator[Point]:
    """Busy share of the driver's last period."""
    rates = look.binding.utilization(look.handle)
    if 0 <= rates.gpu_percent <= PERCENT:
        yield Point("util_ratio", rates.gpu_percent / PERCENT)
    if 0 <= rates.memory_percent <= PERCENT:
        yield Point("memory_util_ratio", rates.memory_percent / PERCENT)


def power(look: Look) -> Iterator[Point]:
    """What it draws."""
    yield from watts("power_w", look.binding.power_mw(look.handle))


def watts(metric: str, milliwatts: int | None) -> Iterator[Point]:
    """Turn a power reading into a point; no card draws nothing: a zero is a sensor that did not answer."""
    if milliwatts:
        yield Point(metric, milliwatts / _MILLI)


def _memory(look: Look) -> Iterator[Point]:
    memory = look.binding.memory(look.handle)
    # Cards that share the machine's memory say 0 of 0: they do not know.
    if memory.total_bytes and memory.used_bytes is not None:
        yield Point("memory_used_mib", memory.used_bytes / _MIB)


def _memory_facts(look: Look) -> Iterator[Point]:
    memory = look.binding.memory(look.handle)
    if memory.total_bytes:
        yield Point("memory_total_mib", memory.total_bytes / _MIB)
        if memory.reserved_bytes is not None:
            yield Point("memory_reserved_mib", memory.reserved_bytes / _MIB)


def _energy(look: Look) -> Iterator[Point]:
    yield Point("energy_j", look.binding.energy_mj(look.handle) / _MILLI)


def _power_limit(look: Look) -> Iterator[Point]:
    yield Point("power_limit_w", look.binding.power_limit_mw(look.handle) / _MILLI)


def _processes(look: Look) -> Iterator[Point]:
    listed = look.binding.processes(look.handle)
    shares_memory, used_bytes = _memory_in_use(look)
    if not listed and _hides_processes(look, used_bytes):
        return
    yield Point("processes", len(listed))
    for process in listed:
        if process.memory_bytes is not None:
            yield Point("process_memory_mib", process.memory_bytes / _MIB, process.pid)
    if shares_memory:
        yield from _sum_of(listed)


def _sum_of(listed: list[Process]) -> Iterator[Point]:
    """Add up what processes hold of memory shared with the machine; unknown if one is silent."""
    held = [process.memory_bytes for process in listed if process.memory_bytes is not None]
    if held and len(held) == len(listed):
        yield Point("memory_used_mib", sum(held) / _MIB)


def _memory_in_use(look: Look) -> tuple[bool, int | None]:
    """Tell whether the card shares the machine's memory, and how much of its own is in use if it is known."""
    try:
        memory = look.binding.memory(look.handle)
    except DriverError as error:
        if reaction(error.code).kind != "unknown":
            raise
        return error.code == _NOT_SUPPORTED, None
    return not memory.total_bytes, memory.used_bytes if memory.total_bytes else None


def _hides_processes(look: Look, used_bytes: int | None) -> bool:
    """Tell a card whose processes we may not see (MIG, another container) from one whose memory is empty."""
    if used_bytes is None or used_bytes > _UNSEEN_BYTES:
        return True
    return not look.is_slice and look.binding.is_split(look.handle)


BASIC_FIELDS = (
    Field("utilization", "each", utilization),
    Field("memory", "each", _memory, of="both"),
    Field("power", "each", power),
    Field("energy", "each", _energy),
    Field("processes", "slow", _processes, of="both"),
    Field("memory_facts", "once", _memory_facts, of="both"),
    Field("power_limit", "once", _power_limit),
)
