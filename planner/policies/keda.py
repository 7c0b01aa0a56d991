"""KEDA: 0 to 1 and back by polling, and the HPA in between."""

from planner.policies.hpa import Hpa, Limits
from planner.policy import Habits, Observation


class Keda(Habits):
    """A trigger on the calls in the system.

    Every `polling_s` the trigger is active if the metric is over `activation`; at 0 replicas that makes 1.
    `cooldown_s` after it was last active, all replicas go at once, whatever their number: the HPA's
    stabilization has no say in that. When the metric failed `failure_threshold` times, it is taken as
    `threshold` times the fallback's replicas.
    """

    interval_s = 15.0  # the HPA's round; polling is counted inside

    def __init__(
        self,
        *,
        threshold: float,
        activation: float = 0.0,
        polling_s: float = 30.0,
        cooldown_s: float = 300.0,
        initial_cooldown_s: float = 0.0,
        min_replicas: int = 0,
        max_replicas: int = 100,
        fallback_replicas: int | None = None,
        failure_threshold: int = 3,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        name: str = "keda",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self.interval_s = min(self.interval_s, polling_s)
        self._threshold, self._activation, self._least = threshold, activation, min_replicas
        self._polling_s, self._cooldown_s, self._initial_s = polling_s, cooldown_s, initial_cooldown_s
        self._fallback, self._failure_threshold = fallback_replicas, failure_threshold
        self._hpa = Hpa(
            target=threshold, min_replicas=max(min_replicas, 1), max_replicas=max_replicas, limits=limits
        )
        self.memory_s = self._hpa.memory_s + cooldown_s + initial_cooldown_s + polling_s
        self._next_poll_s = 0.0
        self._active_s: float | None = None
        self._begun_s: float | None = None
        self._failures = 0

    def decide(self, seen: Observation) -> int:
        """Poll if it is time, then let the HPA scale what stands."""
        now, current = seen.now_s, seen.provisioned
        if self._begun_s is None:
            self._begun_s = now
        metric = self._metric(seen)
        if now >= self._next_poll_s:
            self._next_poll_s = now + self._polling_s
            scaled = self._poll(now, current, metric)
            if scaled is not None:
                return scaled
        return self._hpa.follow(now, current, metric) if current else 0

    def _metric(self, seen: Observation) -> float | None:
        total = seen.in_system
        if total is not None:
            self._failures = 0
            return float(total)
        self._failures += 1
        if self._fallback is None or self._failures < self._failure_threshold:
            return None
        return self._threshold * self._fallback

    def _poll(self, now: float, current: int, metric: float | None) -> int | None:
        """Tell the replicas that the trigger alone decides; None where the HPA does."""
        if metric is not None and metric > self._activation:
            self._active_s = now
            return None if current else max(self._least, 1)
        if self._least or not current or metric is None:
            return None
        begun = now if self._begun_s is None else self._begun_s
        cooled = begun + self._initial_s if self._active_s is None else self._active_s + self._cooldown_s
        return 0 if now >= cooled else None
