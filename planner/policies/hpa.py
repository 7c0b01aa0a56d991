"""The Kubernetes Horizontal Pod Autoscaler (autoscaling/v2): its formula, its windows, its limits."""

from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from planner.policy import Habits, Observation


class Limits(NamedTuple):
    """The default behaviour of autoscaling/v2."""

    tolerance: float = 0.1
    down_window_s: float = 300.0
    up_window_s: float = 0.0
    up_ratio: float = 1.0  # at most so much more in a period, or `up_count`, whichever is more
    up_count: int = 4
    down_ratio: float = 1.0
    period_s: float = 15.0


def wanted_by_pods(
    current: int,
    metrics: Sequence[float | None],
    target: float,
    *,
    not_ready: int = 0,
    tolerance: float = 0.1,
) -> int:
    """Tell the replicas for a metric of each ready pod, None where a pod's is missing.

    Pods without a metric are taken at the target when that would scale down, and at 0 when it would scale
    up; pods not ready at 0 when it would scale up. Where that turns the direction round, nothing changes.
    """
    known = [metric for metric in metrics if metric is not None]
    if not known:
        return current
    missing = len(metrics) - len(known)
    ratio = sum(known) / len(known) / target
    if not missing and (not not_ready or ratio <= 1):
        return current if abs(ratio - 1) <= tolerance else ceil(ratio * len(known))
    pods, total = len(known) + missing, sum(known)
    if ratio < 1:
        total += missing * target
    else:
        pods += not_ready
    corrected = total / pods / target
    if abs(corrected - 1) <= tolerance or (ratio - 1) * (corrected - 1) < 0:
        return current
    wanted = ceil(corrected * pods)
    return current if (corrected - 1) * (wanted - current) < 0 else wanted


def wanted_in_all(current: int, total: float | None, target: float, *, tolerance: float = 0.1) -> int:
    """Tell the replicas for a metric of the whole deployment that is to be `target` per replica."""
    if total is None:
        return current
    if current and abs(total / (target * current) - 1) <= tolerance:
        return current
    return ceil(total / target)


class Hpa(Habits):
    """HPA on the calls in the system (waiting and served) per replica."""

    interval_s = 15.0

    def __init__(
        self,
        *,
        target: float,
        min_replicas: int = 1,
        max_replicas: int = 10,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        name: str = "hpa",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self._target, self._least, self._most, self._limits = target, min_replicas, max_replicas, limits
        self.memory_s = max(limits.down_window_s, limits.up_window_s) + 2 * limits.period_s
        self._recommended: deque[tuple[float, int]] = deque()
        self._changes: deque[tuple[float, int]] = deque()

    def decide(self, seen: Observation) -> int:
        """Scale so that each replica has `target` calls."""
        total = seen.in_system
        return self.follow(seen.now_s, seen.provisioned, None if total is None else float(total))

    def follow(self, now: float, current: int, total: float | None) -> int:
        """Take one round with a metric of the whole deployment; None leaves all as it is."""
        wanted = wanted_in_all(current, total, self._target, tolerance=self._limits.tolerance)
        wanted = min(max(wanted, self._least), self._most)
        wanted = self._limit(now, current, self._stabilize(now, current, wanted))
        if wanted != current:
            self._changes.append((now, wanted - current))
        return wanted

    def _stabilize(self, now: float, current: int, wanted: int) -> int:
        """Go up only to the least, and down only to the most that was recommended within the windows."""
        limits, recommended = self._limits, self._recommended
        recommended.append((now, wanted))
        longest = max(limits.down_window_s, limits.up_window_s)
        while recommended[0][0] < now - longest:
            recommended.popleft()
        up = min(count for instant, count in recommended if instant >= now - limits.up_window_s)
        down = max(count for instant, count in recommended if instant >= now - limits.down_window_s)
        return min(max(current, up), down)

    def _limit(self, now: float, current: int, wanted: int) -> int:
        """Change no more than the policies allow within a period."""
        limits, changes = self._limits, self._changes
        while changes and changes[0][0] <= now - limits.period_s:
            changes.popleft()
        begin = current - sum(change for _, change in changes)
        if wanted > current:
            return min(wanted, max(ceil(begin * (1 + limits.up_ratio)), begin + limits.up_count))
        return max(wanted, ceil(begin * (1 - limits.down_ratio)))
