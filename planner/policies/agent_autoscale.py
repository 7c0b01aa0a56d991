"""The `agent_autoscale` block: up on a breached limit, down when idle, both made exact."""

import re
from collections import deque
from math import ceil, inf
from typing import NamedTuple

from planner.policies.profiles import Profiles
from planner.policy import Habits, Most, Observation
from taximeter.errors import BadInputError

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0}
_UP = re.compile(r"\s*(p\d{1,2}_latency|p\d{1,2}_wait|queue)\s*>\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?\s*")
_DOWN = re.compile(r"\s*idle\s*>\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)\s*")


class Trigger(NamedTuple):
    """When to scale up: a percentile of latency or wait over a limit in seconds, or calls that wait."""

    metric: str  # latency, wait or queue
    quantile: float
    limit: float


def read_scale_up(text: str) -> Trigger:
    """Read `p95_latency > 800ms`, `p95_wait > 2s` or `queue > 3`.

    Raises:
        BadInputError: it is none of these.
    """
    match = _UP.fullmatch(text)
    if match and (match[1] == "queue") == (match[3] is None):
        limit = float(match[2]) * _UNITS_S.get(match[3] or "s", 1.0)
        if match[1] == "queue":
            return Trigger("queue", 0.0, limit)
        percent, _, metric = match[1].removeprefix("p").partition("_")
        return Trigger(metric, int(percent) / 100, limit)
    message = (
        f"scale_up: {text!r} is not understood; write 'p95_latency > 800ms', 'p95_wait > 2s' or 'queue > 3'"
    )
    raise BadInputError(message)


def read_scale_down(text: str) -> float:
    """Read `idle > 60s` as seconds.

    Raises:
        BadInputError: it is not that.
    """
    if match := _DOWN.fullmatch(text):
        return float(match[1]) * _UNITS_S[match[2]]
    message = f"scale_down: {text!r} is not understood; write 'idle > 60s'"
    raise BadInputError(message)


class Exact(NamedTuple):
    """What the block leaves open, with what is taken."""

    window_s: float = 60.0  # over which the percentile is taken
    min_samples: int = 20  # fewer answers in it say nothing
    breaches: int = 3  # ticks running that must be over the limit
    tick_s: float = 5.0
    step: int = 1  # replicas more at a time


class AgentAutoscale(Habits):
    """Up by one when the limit was broken in several ticks running; down to what is used when idle.

    Idle are the replicas beyond what the calls in the system need, without a break for `idle_s`. Up wins over
    down, and nothing is decided while a replica is starting. At 0 replicas an arrival makes one. With
    profiles, a task that is expected back within a cold start and half a call keeps (or wakes) its replica.
    """

    def __init__(
        self,
        *,
        up: Trigger,
        idle_s: float,
        min_replicas: int = 0,
        max_replicas: int = 100,
        exact: Exact = Exact(),  # noqa: B008 - immutable
        profiles: Profiles | None = None,
        lead_s: float = 0.0,
        wakes: bool = True,
        name: str = "agent_autoscale",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self.interval_s = exact.tick_s
        self._up, self._idle_s, self._exact = up, idle_s, exact
        self._least, self._most = min_replicas, max_replicas
        self._profiles, self._lead_s = profiles, lead_s
        self.wakes_on_arrival = wakes
        reads = {"finished_last"} if up.metric != "queue" else set()
        self.reads = frozenset(reads | ({"between"} if profiles else set()))
        self.memory_s = inf if profiles else exact.window_s + 2 * idle_s + 10 * exact.tick_s * exact.breaches
        self._breaches = 0
        self._needed = Most(idle_s)
        self._since_s: float | None = None
        self._answers = _Answers(up, exact)

    def decide(self, seen: Observation) -> int:
        """Take one tick."""
        if seen.in_system is None:
            return seen.provisioned
        return min(max(self._wanted(seen, seen.in_system), self._least), self._most)

    def _wanted(self, seen: Observation, in_system: int) -> int:
        current = seen.provisioned
        needed = ceil((in_system + self._coming(seen)) / seen.concurrency)
        most_needed = self._needed.add(seen.now_s, needed)
        if self._since_s is None:
            self._since_s = seen.now_s
        self._breaches = self._breaches + 1 if self._is_over(seen) else 0
        if not current:
            return min(needed, 1) if self.wakes_on_arrival else 0
        if seen.starting:
            return current
        if self._breaches >= self._exact.breaches and current < self._most:
            self._breaches = 0
            return current + self._exact.step
        if seen.now_s - self._since_s < self._idle_s - self._exact.tick_s:
            return current  # nobody has looked for so long yet
        return min(current, most_needed)

    def _coming(self, seen: Observation) -> int:
        if self._profiles is None:
            return 0
        return self._profiles.coming(seen.between, seen.now_s, self._lead_s)

    def _is_over(self, seen: Observation) -> bool:
        if self._up.metric == "queue":
            return (seen.queued or 0) > self._up.limit
        return self._answers.are_over(seen)


class _Answers:
    """The answers of the last window, and how many of them were over the limit."""

    def __init__(self, up: Trigger, exact: Exact) -> None:
        self._up, self._exact = up, exact
        self._place = 2 if up.metric == "wait" else 1
        self._window: deque[tuple[float, bool]] = deque()
        self._over = 0
        self._newest_s = -inf

    def are_over(self, seen: Observation) -> bool:
        """Tell whether the percentile is over the limit; too few answers say nothing.

        The percentile is the smallest value that at least that share of the answers does not exceed. What
        came at one instant is expected in one observation.
        """
        self._take(seen)
        count = len(self._window)
        within = max(ceil(self._up.quantile * count), 1)
        return count >= self._exact.min_samples and count - self._over < within

    def _take(self, seen: Observation) -> None:
        newest, place, limit, window = self._newest_s, self._place, self._up.limit, self._window
        new = []
        for sample in reversed(seen.finished_last):
            if sample[0] <= newest:
                break
            is_over = sample[place] > limit
            self._over += is_over
            new.append((sample[0], is_over))
        window.extend(reversed(new))
        self._newest_s = window[-1][0] if window else -inf
        begin = seen.seen_s - self._exact.window_s
        while window and window[0][0] <= begin:
            self._over -= window.popleft()[1]
