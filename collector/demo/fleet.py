"""Puts calls on replicas, the first with room first, and knows when each replica worked."""

from bisect import bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import accumulate

from collector.demo.plan import Call
from collector.demo.story import Fleet
from taximeter.clock import NS_PER_S

Stretch = tuple[int, int]
_REMEMBERED = 8
_DRAIN_NS = 60 * NS_PER_S  # the router leaves a failing card before the driver calls it lost


class Replica:
    """One copy of a model: calls in flight, and the stretches in which it worked."""

    def __init__(self, lost: Stretch | None) -> None:
        self.lost = lost
        self._in_flight: list[int] = []
        self._stretches: list[Stretch] = []
        self._ends: list[int] = []
        self._sums: list[int] = []
        self._asked: dict[int, int] = {}

    def is_lost(self, from_ns: int, to_ns: int) -> bool:
        """Tell whether one of its cards is lost at some time of a stretch."""
        return self.lost is not None and from_ns < self.lost[1] and to_ns > self.lost[0] - _DRAIN_NS

    def load(self, at_ns: int) -> int:
        """Count the calls in flight; ask in order of time."""
        while self._in_flight and self._in_flight[0] <= at_ns:
            heappop(self._in_flight)
        return len(self._in_flight)

    def take(self, from_ns: int, to_ns: int) -> None:
        """Work on one more call; calls come in order of their start."""
        heappush(self._in_flight, to_ns)
        if self._stretches and from_ns <= self._stretches[-1][1]:
            first, last = self._stretches.pop()
            from_ns, to_ns = first, max(last, to_ns)
        self._stretches.append((from_ns, to_ns))
        self._ends = []
        self._asked.clear()

    def worked_ns(self, until_ns: int) -> int:
        """Nanoseconds in which it worked, from the start of the day to an instant.

        Cards of one replica and figures of one card ask for the same few instants: those are remembered.
        """
        worked_ns = self._asked.get(until_ns)
        if worked_ns is None:
            if len(self._asked) > _REMEMBERED:
                self._asked.clear()
            worked_ns = self._asked[until_ns] = self._worked_ns(until_ns)
        return worked_ns

    def _worked_ns(self, until_ns: int) -> int:
        if not self._stretches:
            return 0
        if not self._ends:
            self._ends = [to_ns for _, to_ns in self._stretches]
            self._sums = [0, *accumulate(to_ns - from_ns for from_ns, to_ns in self._stretches)]
        done = bisect_right(self._ends, until_ns)
        rest = max(0, until_ns - self._stretches[done][0]) if done < len(self._stretches) else 0
        return self._sums[done] + rest

    @property
    def stretches(self) -> list[Stretch]:
        """The stretches in which it worked, in order, apart from each other."""
        return list(self._stretches)


class Deployment:
    """The replicas of one model. A router that fills one replica before it wakes the next."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.replicas = [Replica(self._lost(number)) for number in range(fleet.replicas)]

    def place(self, calls: Iterable[Call]) -> None:
        """Give every call a replica; calls are taken in order of the try that is answered."""
        for call in sorted(calls, key=lambda call: (call.answer_ns, call.end_ns)):
            able = [
                number
                for number, replica in enumerate(self.replicas)
                if not replica.is_lost(call.answer_ns, call.end_ns)
            ]
            room = self.fleet.concurrency or 1
            loads = {number: self.replicas[number].load(call.answer_ns) for number in able}
            call.replica = next((n for n in able if loads[n] < room), min(able, key=loads.__getitem__))
            self.replicas[call.replica].take(call.answer_ns, call.end_ns)

    def _lost(self, replica: int) -> Stretch | None:
        lost = self.fleet.lost
        if lost is None or lost.card // self.fleet.per_replica != replica:
            return None
        return round(lost.from_h * 3600) * NS_PER_S, round(lost.to_h * 3600) * NS_PER_S


def deploy(fleets: Iterable[Fleet]) -> dict[str, Deployment]:
    """Make the deployments of a story, empty."""
    return {fleet.deployment: Deployment(fleet) for fleet in fleets}


def place(deployments: dict[str, Deployment], calls: Iterable[Call]) -> None:
    """Put calls on the replicas of their deployments; a call of a model API has none."""
    own: dict[str, list[Call]] = {}
    for call in calls:
        if call.model.deployment:
            own.setdefault(call.model.deployment, []).append(call)
    for name, of_name in own.items():
        deployments[name].place(of_name)
