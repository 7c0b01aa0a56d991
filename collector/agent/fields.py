"""What is read from a card, how often, and in which unit it is handed on."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from collector.agent.binding import Binding, Handle

Rate = Literal["each", "slow", "once"]

_MIB = 1 << 20
_PERCENT = 100
_MILLI = 1000
# An empty list beside more memory than this means processes that we may not see, not an empty card.
_UNSEEN_BYTES = 64 * _MIB


class Point(NamedTuple):
    """One figure of one card: `metric` is a key of warehouse.rows.GPU_METRICS."""

    metric: str
    value: float
    pid: int | None = None


class Field(NamedTuple):
    """One question to a card. `each`: at every tick, `slow`: every few, `once`: after an enumeration."""

    name: str
    rate: Rate
    read: Callable[[Binding, Handle], Iterator[Point]]


def _utilization(binding: Binding, handle: Handle) -> Iterator[Point]:
    rates = binding.utilization(handle)
    if 0 <= rates.gpu_percent <= _PERCENT:
        yield Point("util_ratio", rates.gpu_percent / _PERCENT)
    if 0 <= rates.memory_percent <= _PERCENT:
        yield Point("memory_util_ratio", rates.memory_percent / _PERCENT)


def _memory(binding: Binding, handle: Handle) -> Iterator[Point]:
    memory = binding.memory(handle)
    # Cards that share the machine's memory say 0 of 0: they do not know.
    if memory.total_bytes and memory.used_bytes is not None:
        yield Point("memory_used_mib", memory.used_bytes / _MIB)


def _memory_facts(binding: Binding, handle: Handle) -> Iterator[Point]:
    memory = binding.memory(handle)
    if memory.total_bytes:
        yield Point("memory_total_mib", memory.total_bytes / _MIB)
        if memory.reserved_bytes is not None:
            yield Point("memory_reserved_mib", memory.reserved_bytes / _MIB)


def _power(binding: Binding, handle: Handle) -> Iterator[Point]:
    milliwatts = binding.power_mw(handle)
    if milliwatts:  # no card draws nothing: a zero is a sensor that did not answer
        yield Point("power_w", milliwatts / _MILLI)


def _energy(binding: Binding, handle: Handle) -> Iterator[Point]:
    yield Point("energy_j", binding.energy_mj(handle) / _MILLI)


def _power_limit(binding: Binding, handle: Handle) -> Iterator[Point]:
    yield Point("power_limit_w", binding.power_limit_mw(handle) / _MILLI)


def _processes(binding: Binding, handle: Handle) -> Iterator[Point]:
    listed = binding.processes(handle)
    if not listed and _hides_processes(binding, handle):
        return
    yield Point("processes", len(listed))
    for process in listed:
        if process.memory_bytes is not None:
            yield Point("process_memory_mib", process.memory_bytes / _MIB, process.pid)


def _hides_processes(binding: Binding, handle: Handle) -> bool:
    """Tell a card whose processes we may not see (MIG, another container) from one whose memory is empty."""
    if binding.is_split(handle):
        return True
    memory = binding.memory(handle)
    return not memory.total_bytes or memory.used_bytes is None or memory.used_bytes > _UNSEEN_BYTES


FIELDS = (
    Field("utilization", "each", _utilization),
    Field("memory", "each", _memory),
    Field("power", "each", _power),
    Field("energy", "each", _energy),
    Field("processes", "slow", _processes),
    Field("memory_facts", "once", _memory_facts),
    Field("power_limit", "once", _power_limit),
)
