"""Knative's pod autoscaler (KPA): a stable window, and a panic window that never scales down."""

from collections import deque
from math import ceil, floor, inf

from planner.policy import Habits, Observation, Window


class Knative(Habits):
    """Scales by mean concurrency: `target` calls a replica should have, over a minute and over six seconds.

    `target` is already the share of the container's concurrency that is aimed at (70 % by default). The
    scale to zero comes after a stable window without traffic and `grace_s` more, the longest that the
    network may need.
    """

    interval_s = 2.0
    wakes_on_arrival = True

    def __init__(
        self,
        *,
        target: float = 70.0,
        stable_s: float = 60.0,
        panic_ratio: float = 0.1,
        panic_threshold: float = 2.0,
        most_up: float = 1_000.0,
        most_down: float = 2.0,
        down_delay_s: float = 0.0,
        grace_s: float = 30.0,
        min_replicas: int = 0,
        max_replicas: int = 100,
        name: str = "knative",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self._target, self._stable_s, self._threshold = target, stable_s, panic_threshold
        self._most_up, self._most_down, self._grace_s = most_up, most_down, grace_s
        self._least, self._most, self._down_delay_s = min_replicas, max_replicas, down_delay_s
        self._stable = Window(stable_s)
        self._panic = Window(stable_s * panic_ratio)
        self._panic_since_s: float | None = None
        self._panic_most = 0
        self._delayed: deque[tuple[float, int]] = deque()
        self._zero_since_s = inf
        self._is_fresh = True
        self.memory_s = 2 * stable_s + grace_s + down_delay_s

    @property
    def is_in_panic(self) -> bool:
        """Whether the last decision was made in panic."""
        return self._panic_since_s is not None

    def decide(self, seen: Observation) -> int:
        """Take one round."""
        stable = self._stable.add(seen.seen_s, seen.in_system_s)
        panic = self._panic.add(seen.seen_s, seen.in_system_s)
        if seen.in_system:  # one call in flight counts at once, though no time has passed with it
            stable, panic = max(stable, 1e-9), max(panic, 1e-9)
        return self.follow(seen.now_s, seen.ready, stable, panic, provisioned=seen.provisioned)

    def follow(self, now: float, ready: int, stable: float, panic: float, *, provisioned: int) -> int:
        """Take one round with mean concurrencies over the stable and the panic window."""
        base = max(ready, 1)
        if self._is_fresh:
            self._is_fresh = False
            if ready > 1:
                self._panic_since_s, self._panic_most = now, ready
        most, least = ceil(base * self._most_up), floor(ready / self._most_down)
        wanted_stable = min(max(ceil(stable / self._target), least), most)
        by_panic = ceil(panic / self._target)
        wanted_panic = min(max(by_panic, least), most)
        self._watch(now, is_over=by_panic / base >= self._threshold)
        wanted = wanted_stable
        if self._panic_since_s is not None:
            self._panic_most = max(self._panic_most, wanted_panic, wanted_stable)
            wanted = self._panic_most
        wanted = min(max(self._delay(now, wanted), self._least), self._most)
        return self._grant_zero(now, wanted, provisioned, is_silent=stable <= 0)

    def _watch(self, now: float, *, is_over: bool) -> None:
        if is_over:
            self._panic_since_s = now
        elif self._panic_since_s is not None and now > self._panic_since_s + self._stable_s:
            self._panic_since_s, self._panic_most = None, 0

    def _delay(self, now: float, wanted: int) -> int:
        if not self._down_delay_s:
            return wanted
        delayed = self._delayed
        delayed.append((now, wanted))
        while delayed[0][0] <= now - self._down_delay_s:
            delayed.popleft()
        return max(count for _, count in delayed)

    def _grant_zero(self, now: float, wanted: int, provisioned: int, *, is_silent: bool) -> int:
        if wanted or not is_silent:
            self._zero_since_s = inf
            return wanted
        self._zero_since_s = min(self._zero_since_s, now)
        if now >= self._zero_since_s + self._grace_s or not provisioned:
            return 0
        return min(provisioned, 1)
