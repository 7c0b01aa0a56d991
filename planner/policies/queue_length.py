"""A target for the queue: one replica more or fewer at a time."""

from math import ceil

from planner.policy import Habits, Observation


class QueueLength(Habits):
    """Adds a replica while more than `target` calls wait per replica, takes one when nobody waits.

    One is taken only if the others would have a place for all that is served; an empty deployment goes to
    the minimum. Down and to zero only after that has held for `down_after_s`.
    """

    wakes_on_arrival = True

    def __init__(
        self,
        *,
        target: float = 1.0,
        tick_s: float = 10.0,
        down_after_s: float = 60.0,
        min_replicas: int = 0,
        max_replicas: int = 100,
        name: str = "queue_length",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self.interval_s = tick_s
        self._target, self._down_after_s = target, down_after_s
        self._least, self._most = min_replicas, max_replicas
        self._calm_since_s: float | None = None
        self.memory_s = 2 * down_after_s + tick_s

    def decide(self, seen: Observation) -> int:
        """Take one tick."""
        wanted = self._follow(seen, seen.provisioned)
        return min(max(wanted, self._least), self._most)

    def _follow(self, seen: Observation, current: int) -> int:
        queued, running = seen.queued, seen.running
        if queued is None or running is None:
            return current
        if queued > self._target * current:
            self._calm_since_s = None
            # While one starts, the queue it is meant for is still there.
            return current + 1 if not seen.starting else current
        fits = ceil(running / seen.concurrency)
        if queued or fits >= current:
            self._calm_since_s = None
            return current
        if self._calm_since_s is None:
            self._calm_since_s = seen.now_s
        if seen.now_s - self._calm_since_s < self._down_after_s:
            return current
        if not running:
            return 0
        self._calm_since_s = seen.now_s
        return current - 1
