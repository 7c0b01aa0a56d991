"""A target for token throughput: as many replicas as the tokens of the last window need."""

from math import ceil

from planner.policy import Habits, Observation, Window


class TokenRate(Habits):
    """Scales by prompt and answer tokens of the calls that came, per second over a window.

    Changes within the tolerances are left; down only to the most that was wanted within `down_window_s`.
    Calls of unknown tokens add nothing, so a recording without usage cannot be scaled this way.
    """

    wakes_on_arrival = True

    def __init__(
        self,
        *,
        tokens_per_s_per_replica: float,
        window_s: float = 30.0,
        tick_s: float = 10.0,
        up_tolerance: float = 0.1,
        down_tolerance: float = 0.1,
        down_window_s: float = 300.0,
        min_replicas: int = 1,
        max_replicas: int = 100,
        name: str = "token_rate",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self.interval_s = tick_s
        self._rate, self._tolerances = tokens_per_s_per_replica, (up_tolerance, down_tolerance)
        self._least, self._most = min_replicas, max_replicas
        self._window = Window(window_s)
        self._down_window_s = down_window_s
        self._wanted: list[tuple[float, int]] = []
        self.memory_s = window_s + down_window_s + tick_s

    def decide(self, seen: Observation) -> int:
        """Take one tick."""
        rate = self._window.add(seen.seen_s, seen.tokens)
        current = seen.provisioned
        wanted = self._for(rate, current)
        if seen.in_system:
            wanted = max(wanted, 1)
        self._wanted.append((seen.now_s, wanted))
        self._wanted = [one for one in self._wanted if one[0] >= seen.now_s - self._down_window_s]
        if wanted < current:
            wanted = min(current, max(count for _, count in self._wanted))
        return min(max(wanted, self._least), self._most)

    def _for(self, rate: float, current: int) -> int:
        if current:
            ratio = rate / (self._rate * current)
            if 1 - self._tolerances[1] <= ratio <= 1 + self._tolerances[0]:
                return current
        return ceil(rate / self._rate)
