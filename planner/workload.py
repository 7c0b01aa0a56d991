"""A workload: what tasks ask of one deployment, and what each step waits for."""

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf, isnan
from typing import NamedTuple

UNKNOWN = float("nan")


class Step(NamedTuple):
    """One step as it was recorded, in seconds from the start of the workload.

    `group` is what runs in a closed loop (a task, or the tasks of a conversation). `wait_s` is its recorded
    queueing, nan where nobody knows; `end_s` is `start_s` plus wait plus work.
    """

    group: int
    task: int
    start_s: float
    end_s: float
    work_s: float
    is_served: bool
    wait_s: float = 0.0
    tokens: float = UNKNOWN
    profile: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """Steps in order of their recorded start, one list per figure, so that a replay is quick.

    `gap_s` is the pause after the last of the steps before it ended, and the arrival where there are none.
    `work_s` is a served step's time alone on a replica, `recorded_s` its time served as recorded, in company;
    of a tool or another model both are its recorded duration. Minutes count from the epoch.
    `slack_s` tells how much later a step could have ended without moving the end of its task.
    """

    deployment: str
    start_ns: int
    horizon_s: float
    task_ids: list[str]
    profiles: list[str]
    task: list[int]
    start_s: list[float]
    gap_s: list[float]
    work_s: list[float]
    recorded_s: list[float]
    wait_s: list[float]
    served: list[bool]
    tokens: list[float]
    profile: list[int]
    before: list[int]
    after: list[tuple[int, ...]]
    slack_s: list[float]
    kind: str = "closed loop"
    assumed: str | None = None
    queueing: str = "measured"
    coverage_ratio: float | None = 1.0
    saturated_minutes: tuple[int, ...] = ()
    slow_down: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def steps(self) -> int:
        """How many steps there are, tools and other models included."""
        return len(self.task)

    @property
    def served_steps(self) -> int:
        """How many of them the deployment serves."""
        return sum(self.served)

    def within(self, start_ns: int, horizon_s: float) -> "Workload":
        """Count seconds from another instant, not later than its own start, and run to another horizon."""
        shift_s = (self.start_ns - start_ns) / 1e9
        return replace(
            self,
            start_ns=start_ns,
            horizon_s=horizon_s,
            start_s=[start + shift_s for start in self.start_s],
            gap_s=[
                gap if waits else gap + shift_s for gap, waits in zip(self.gap_s, self.before, strict=True)
            ],
        )

    def noted(self, *notes: str) -> "Workload":
        """Say something more about where it comes from."""
        return replace(self, notes=(*self.notes, *notes))


def build(
    steps: list[Step],
    *,
    deployment: str,
    task_ids: list[str],
    profiles: list[str],
    horizon_s: float,
    start_ns: int = 0,
) -> Workload:
    """Find what each step waited for, and how much slack it had.

    A step starts after the last steps of its group that ended before its start, plus the recorded pause;
    steps that overlap run in parallel. The order that was seen is taken for the order that must be.

    Raises:
        ValueError: a step ends before it starts or works for a negative time.
    """
    ordered = sorted(steps, key=lambda step: (step.start_s, step.end_s))
    if any(step.end_s < step.start_s or step.work_s < 0 or isnan(step.work_s) for step in ordered):
        message = "a step ends before it starts"
        raise ValueError(message)
    before = _waits_for(ordered)
    after: list[list[int]] = [[] for _ in ordered]
    gap_s = [0.0] * len(ordered)
    for index, earlier in enumerate(before):
        last_s = max((ordered[other].end_s for other in earlier), default=0.0)
        gap_s[index] = max(ordered[index].start_s - last_s, 0.0)
        for other in earlier:
            after[other].append(index)
    ends = [step.end_s for step in ordered]
    return Workload(
        deployment=deployment,
        start_ns=start_ns,
        horizon_s=max(horizon_s, 0.0),
        task_ids=task_ids,
        profiles=profiles,
        task=[step.task for step in ordered],
        start_s=[step.start_s for step in ordered],
        gap_s=gap_s,
        work_s=[step.work_s for step in ordered],
        recorded_s=[
            step.end_s - step.start_s - (0.0 if isnan(step.wait_s) else step.wait_s) for step in ordered
        ],
        wait_s=[step.wait_s for step in ordered],
        served=[step.is_served for step in ordered],
        tokens=[step.tokens for step in ordered],
        profile=[step.profile for step in ordered],
        before=[len(earlier) for earlier in before],
        after=[tuple(later) for later in after],
        slack_s=_slack(ordered, ends, after, gap_s),
    )


def _waits_for(steps: list[Step]) -> list[list[int]]:
    """List, for each step, the earlier ones of its group that end last before it and after no other of them.

    Of all that ended by its start those count that ended after the latest of their starts: what ended
    earlier is waited for through them.
    """
    running: dict[int, list[tuple[float, int]]] = {}
    front: dict[int, list[int]] = {}
    latest: dict[int, float] = {}
    found: list[list[int]] = []
    for index, step in enumerate(steps):
        flying = running.setdefault(step.group, [])
        ended = front.setdefault(step.group, [])
        is_moved = False
        while flying and flying[0][0] <= step.start_s:
            _, other = heappop(flying)
            ended.append(other)
            latest[step.group] = max(latest.get(step.group, -inf), steps[other].start_s)
            is_moved = True
        if is_moved:
            ended[:] = _last_ones(steps, ended, latest[step.group])
        found.append(list(ended))
        heappush(flying, (step.end_s, index))
    return found


def _last_ones(steps: list[Step], ended: list[int], latest_s: float) -> list[int]:
    kept = [other for other in ended if steps[other].end_s >= latest_s]
    strict = [other for other in kept if steps[other].end_s > latest_s or steps[other].start_s == latest_s]
    return strict or kept


def _slack(steps: list[Step], ends: list[float], after: list[list[int]], gap_s: list[float]) -> list[float]:
    task_end: dict[int, float] = {}
    for step in steps:
        task_end[step.task] = max(task_end.get(step.task, -inf), step.end_s)
    latest_end = [0.0] * len(steps)
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        allowed = task_end[step.task]
        for other in after[index]:
            if steps[other].task == step.task:
                begin = latest_end[other] - (steps[other].end_s - steps[other].start_s)
                allowed = min(allowed, begin - gap_s[other])
        latest_end[index] = allowed
    return [max(allowed - end, 0.0) for allowed, end in zip(latest_end, ends, strict=True)]


def saturated(intervals: list[tuple[float, float]], slots: int) -> tuple[int, ...]:
    """Tell the minutes, of intervals in seconds, in which all slots were taken more than half of the time.

    In them the recording cannot show what more was wanted.
    """
    edges = sorted([(begin, 1) for begin, _ in intervals] + [(end, -1) for _, end in intervals])
    full_s: dict[int, float] = {}
    flying, since = 0, 0.0
    for instant, change in edges:
        if flying >= slots and instant > since:
            _spread(full_s, since, instant)
        flying, since = flying + change, instant
    return tuple(sorted(minute for minute, seconds in full_s.items() if seconds > 30.0))  # noqa: PLR2004


def _spread(full_s: dict[int, float], begin: float, end: float) -> None:
    for minute in range(int(begin // 60), int(end // 60) + 1):
        shared = min(end, (minute + 1) * 60.0) - max(begin, minute * 60.0)
        if shared > 0:
            full_s[minute] = full_s.get(minute, 0.0) + shared


class Queueing(NamedTuple):
    """Recorded queueing, told or estimated, and how it is known."""

    begin_s: list[float]
    how: str
    note: str | None = None


def strip_queue(arrivals: list[float], ends: list[float], slots: int) -> Queueing:
    """Estimate when each step began to be served, in order of arrival, where nobody told it.

    With `slots` served at once and first come first served, a step begins when fewer than `slots` of those
    before it are left. Where the recording shows that more were served at once, nothing is taken off.
    """
    if _most_at_once(arrivals, ends) > 2 * slots:
        note = f"more than {2 * slots} calls ran at once where {slots} fit: no queue is taken off"
        return Queueing(list(arrivals), "unknown", note)
    begun: list[float] = []
    largest: list[float] = []  # the latest ends so far, as many as there are slots, smallest first
    for arrival, end in zip(arrivals, ends, strict=True):
        free_s = largest[0] if len(largest) == slots else -inf
        begun.append(min(max(arrival, free_s), end))
        heappush(largest, end)
        if len(largest) > slots:
            heappop(largest)
    return Queueing(begun, "estimated")


def _most_at_once(arrivals: list[float], ends: list[float]) -> int:
    """Count the steps in flight that are exceeded in one arrival of a hundred only."""
    closed = sorted(ends)
    seen = sorted(index + 1 - bisect_right(closed, arrival) for index, arrival in enumerate(arrivals))
    return seen[int(0.99 * (len(seen) - 1))] if seen else 0
