"""What a policy sees and what it answers: the same in a backtest and in advice on a living fleet."""

from collections import deque
from collections.abc import Collection, Sequence
from math import inf
from typing import NamedTuple, Protocol

Target = int | tuple[int, ...]  # replicas wanted: in all, or per pool


class Observation(NamedTuple):
    """The deployment as its metrics show it.

    `now_s` is the policy's own clock; all else is as of `seen_s`, which is earlier where metrics come late.
    Counters only grow, so that a window is the difference of two observations. A gauge is None while its
    metric is missing. `finished_last` holds (instant, seconds from arrival to answer, of these
    waiting), oldest first. `between` holds (name, instant it began) of the steps that tasks run elsewhere
    (tools). Both of these change after the answer: a policy copies what it keeps.
    """

    now_s: float
    seen_s: float
    ready: int
    starting: int
    queued: int | None
    running: int | None
    arrived: int = 0
    finished: int = 0
    in_system_s: float = 0.0  # integral of queued and running
    tokens: float = 0.0  # of all calls that arrived; unknown ones add nothing
    finished_last: Sequence[tuple[float, float, float]] = ()
    between: Collection[tuple[str, float]] = ()
    ready_by_pool: tuple[int, ...] = ()
    concurrency: int = 1

    @property
    def provisioned(self) -> int:
        """Replicas that serve or will."""
        return self.ready + self.starting

    @property
    def in_system(self) -> int | None:
        """Calls that wait or are served; None while that is unknown."""
        return None if self.queued is None or self.running is None else self.queued + self.running


class Policy(Protocol):
    """Decides how many replicas there should be. It may remember, and asks neither clock nor chance."""

    @property
    def name(self) -> str:
        """What it is called in results."""
        ...

    @property
    def start(self) -> int:
        """Replicas that stand ready at the beginning."""
        ...

    @property
    def interval_s(self) -> float:
        """How often it is asked."""
        ...

    @property
    def idle_interval_s(self) -> float:
        """How often it is asked while there is no replica; 0 for the same as always."""
        ...

    @property
    def wakes_on_arrival(self) -> bool:
        """Whether it is asked at once when a call comes and there is no replica."""
        ...

    @property
    def memory_s(self) -> float:
        """After so long of equal observations its answer stays what it is; inf where it never settles."""
        ...

    @property
    def reads(self) -> frozenset[str]:
        """Which costly figures it reads: finished_last, between."""
        ...

    def decide(self, seen: Observation) -> Target:
        """Answer how many replicas there should be now."""
        ...


class Habits:
    """What most policies have in common."""

    start: int = 1
    interval_s: float = 15.0
    wakes_on_arrival: bool = False
    memory_s: float = inf
    reads: frozenset[str] = frozenset()

    idle_interval_s: float = 0.0  # 0 stands for the same as always


class Window:
    """A counter's increase over the last `length_s`, from observations that come in order of time."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._points: list[tuple[float, float]] = []
        self._first = 0
        self._total = 0.0

    def total(self) -> float:
        """Tell the increase over the window, as of the newest point."""
        return self._total

    def add(self, instant: float, value: float) -> float:
        """Take the counter's value at an instant; tell its increase per second over the window.

        Before the window has filled, the rate is over the time that has been seen. The oldest point kept is
        the newest at or before the window's start.
        """
        points = self._points
        points.append((instant, value))
        begin = instant - self._length_s
        first = self._first
        while first + 1 < len(points) and points[first + 1][0] <= begin:
            first += 1
        if first > 1_000:  # noqa: PLR2004 - drop what was passed, seldom
            del points[:first]
            first = 0
        self._first = first
        since, then = points[first]
        self._total = value - then
        return (value - then) / (instant - since) if instant > since else 0.0


class Most:
    """The largest of the values of the last `length_s`, both ends included."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._falling: deque[tuple[float, int]] = deque()  # a later larger value makes an earlier one moot

    def add(self, instant: float, value: int) -> int:
        """Take a value, not before the last one's instant; tell the largest."""
        falling = self._falling
        while falling and falling[-1][1] <= value:
            falling.pop()
        falling.append((instant, value))
        while falling[0][0] < instant - self._length_s:
            falling.popleft()
        return falling[0][1]
