"""What the agent tells of itself: that it lives, what it costs, what it missed, how far off its clock is."""

import resource
from typing import NamedTuple

from collector.agent.offset import Offset

PREFIX = "taximeter.agent."
_PAGES = "/proc/self/statm"
_MIB = 1 << 20


class OwnFigure(NamedTuple):
    """One figure of the agent itself; a `sum` only grows from `start_ns` of the program on."""

    name: str
    unit: str
    value: float
    is_sum: bool = False


class Own:
    """Counts ticks. A tick is late where it began more than half an interval after its time."""

    def __init__(self, interval_s: float, start_ns: int) -> None:
        self._interval_s = interval_s
        self.start_ns = start_ns
        self._longest_s = 0.0
        self._ticks = 0
        self._late = 0

    def tick(self, late_s: float, took_s: float) -> None:
        """Count one tick that began `late_s` after its time and took `took_s`."""
        self._ticks += 1
        self._late += late_s > self._interval_s / 2
        self._longest_s = max(self._longest_s, took_s)

    def figures(self, *, waiting: int, dropped: int, hung: int, offset: Offset | None) -> list[OwnFigure]:
        """Give what is told with the next request; the longest tick is of the time since the last one."""
        longest_s, self._longest_s = self._longest_s, 0.0
        used = resource.getrusage(resource.RUSAGE_SELF)
        figures = [
            OwnFigure("heartbeat", "1", 1),
            OwnFigure("interval_s", "s", self._interval_s),
            OwnFigure("cpu_s", "s", used.ru_utime + used.ru_stime, is_sum=True),
            OwnFigure("memory_mib", "MiBy", _memory_mib(used.ru_maxrss)),
            OwnFigure("tick_longest_s", "s", longest_s),
            OwnFigure("ticks", "{tick}", self._ticks, is_sum=True),
            OwnFigure("ticks_late", "{tick}", self._late, is_sum=True),
            OwnFigure("requests_waiting", "{request}", waiting),
            OwnFigure("requests_dropped", "{request}", dropped, is_sum=True),
            OwnFigure("cards_hung", "{card}", hung),
        ]
        if offset is not None:
            figures.append(OwnFigure("clock_offset_s", "s", offset.offset_s))
            figures.append(OwnFigure("clock_error_s", "s", offset.error_s))
        return figures


def _memory_mib(peak_kib: int) -> float:
    """Resident memory now, from Linux; elsewhere the most that it was."""
    try:
        with open(_PAGES, encoding="ascii") as file:  # noqa: PTH123  a Path a tick is more than the read itself
            return int(file.read().split()[1]) * resource.getpagesize() / _MIB
    except OSError:
        return peak_kib / 1024
