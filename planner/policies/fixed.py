"""A number of replicas that never changes, and the line that was recorded."""

from bisect import bisect_right

from planner.policy import Habits, Observation


class FixedCount(Habits):
    """So many replicas, always."""

    interval_s = 600.0
    memory_s = 0.0

    def __init__(self, replicas: int, name: str | None = None) -> None:
        self.start = replicas
        self.name = name or f"fixed-{replicas}"

    def decide(self, seen: Observation) -> int:
        """Answer the same as ever."""
        del seen
        return self.start


class RecordedLine(Habits):
    """What really stood there: (second, replicas ready) in order of time, each until the next."""

    name = "recorded"

    def __init__(self, line: list[tuple[float, int]], interval_s: float = 5.0) -> None:
        self._instants = [instant for instant, _ in line]
        self._counts = [count for _, count in line]
        self.interval_s = interval_s
        self.start = self._at(0.0)
        if len(set(self._counts[: bisect_right(self._instants, 0.0)] + self._counts[:-1])) <= 1:
            self.memory_s = 0.0

    def _at(self, instant: float) -> int:
        return self._counts[max(bisect_right(self._instants, instant) - 1, 0)]

    def decide(self, seen: Observation) -> int:
        """Answer what stood there then; the last count of a recording holds to its end."""
        last = len(self._instants) - 1
        place = max(bisect_right(self._instants, seen.now_s) - 1, 0)
        if place == last and last > 0:
            return self._counts[last - 1]
        return self._counts[place]
