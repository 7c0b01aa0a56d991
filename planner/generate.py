"""A made load out of a recorded one: more of it, at another time, in bursts; the same for the same seed."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from planner.workload import Step, Workload, build
from taximeter.errors import BadInputError


class Change(NamedTuple):
    """How a load is changed.

    `multiply` 2.5 makes two copies of every loop and a third of every second one, each at a random time near
    the first (within ten minutes). `shift_s` moves all of it. `burst` 3 draws the arrivals of each hour
    together into its first third.
    """

    multiply: float = 1.0
    shift_s: float = 0.0
    burst: float = 1.0
    seed: int = 1

    @property
    def is_any(self) -> bool:
        """Whether anything is changed."""
        return self[:3] != (1.0, 0.0, 1.0)

    def describe(self) -> str:
        """Say it in words."""
        return (
            f"multiplied by {self.multiply:g}, shifted by {self.shift_s:g} s, burst {self.burst:g},"
            f" seed {self.seed}"
        )


_NEAR_S = 600.0
_HOUR_S = 3_600.0


def draw(rates_per_s: Sequence[float], window_s: float, call_s: float, seed: int = 1) -> Workload:
    """Draw arrivals out of a series of mean rates, one for each window: Poisson within it, all calls equal.

    What a rate series does not tell is assumed and said: that arrivals within a window are independent, and
    how long a call takes.

    Raises:
        BadInputError: a rate is negative, or nothing comes at all.
    """
    if any(rate < 0 for rate in rates_per_s) or not any(rates_per_s):
        message = "rates must not be negative, and not all be 0"
        raise BadInputError(message)
    random = Random(seed)  # noqa: S311 - a made load must be the same each time
    steps: list[Step] = []
    for window, rate in enumerate(rates_per_s):
        now, end = window * window_s, (window + 1) * window_s
        while rate and (now := now + random.expovariate(rate)) < end:
            number = len(steps)
            steps.append(Step(number, number, now, now + call_s, call_s, is_served=True))
    built = build(
        steps,
        deployment="drawn",
        task_ids=[str(number) for number in range(len(steps))],
        profiles=["call"],
        horizon_s=len(rates_per_s) * window_s,
    )
    assumed = f"arrivals drawn from rates per {window_s:g} s, seed {seed}; every call takes {call_s:g} s"
    return replace(built, kind="open loop", assumed=assumed, queueing="none recorded")


def change(load: Workload, wanted: Change) -> Workload:
    """Make the changed load: whole loops are copied and moved, never single rounds.

    Raises:
        BadInputError: a factor is not positive, a burst below 1, or a shift before the start.
    """
    if wanted.multiply <= 0 or wanted.burst < 1 or wanted.shift_s < 0:
        message = "multiply must be positive, burst at least 1, shift not negative"
        raise BadInputError(message)
    random = Random(wanted.seed)  # noqa: S311 - a made load must be the same each time
    loops = _loops(load)
    copies: list[tuple[list[int], float, int]] = []
    for steps in loops:
        first = load.start_s[steps[0]]
        whole, part = divmod(wanted.multiply, 1.0)
        count = int(whole) + (random.random() < part)
        for number in range(count):
            begin = first if number == 0 else max(first + random.uniform(-_NEAR_S, _NEAR_S), 0.0)
            copies.append((steps, _drawn_together(begin, wanted.burst) + wanted.shift_s - first, number))
    return _joined(load, copies, wanted.shift_s)


def _drawn_together(instant: float, burst: float) -> float:
    hour, inside = divmod(instant, _HOUR_S)
    return hour * _HOUR_S + inside / burst


def _loops(load: Workload) -> list[list[int]]:
    """List the steps of each closed loop: those that wait for one another, or are of one task."""
    parent = list(range(load.steps))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    first_of_task: dict[int, int] = {}
    for step, later in enumerate(load.after):
        for other in (*later, first_of_task.setdefault(load.task[step], step)):
            a, b = root(step), root(other)
            parent[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = {}
    for step in range(load.steps):
        found.setdefault(root(step), []).append(step)
    return list(found.values())


def _joined(load: Workload, copies: list[tuple[list[int], float, int]], shift_s: float) -> Workload:
    order: list[tuple[float, int, int]] = []  # start, copy, old step
    for copy, (steps, moved, _) in enumerate(copies):
        order += [(load.start_s[step] + moved, copy, step) for step in steps]
    order.sort()
    place = {(copy, step): new for new, (_, copy, step) in enumerate(order)}
    task_ids: list[str] = []
    task_of: dict[tuple[int, int], int] = {}
    for _, copy, step in order:
        key = (copy, load.task[step])
        if key not in task_of:
            task_of[key] = len(task_ids)
            number = copies[copy][2]
            task_ids.append(load.task_ids[key[1]] + (f"#{number + 1}" if number else ""))
    old = [step for _, _, step in order]
    moves = [copies[copy][1] for _, copy, _ in order]
    last = max((start + load.recorded_s[step] for start, _, step in order), default=0.0)
    return replace(
        load,
        horizon_s=max(load.horizon_s + shift_s, last),
        task_ids=task_ids,
        task=[task_of[copy, load.task[step]] for _, copy, step in order],
        start_s=[start for start, _, _ in order],
        gap_s=[
            load.gap_s[step] + (0.0 if load.before[step] else moved)
            for step, moved in zip(old, moves, strict=True)
        ],
        work_s=[load.work_s[step] for step in old],
        recorded_s=[load.recorded_s[step] for step in old],
        wait_s=[load.wait_s[step] for step in old],
        served=[load.served[step] for step in old],
        tokens=[load.tokens[step] for step in old],
        profile=[load.profile[step] for step in old],
        before=[load.before[step] for step in old],
        after=[tuple(place[copy, other] for other in load.after[step]) for _, copy, step in order],
        slack_s=[load.slack_s[step] for step in old],
        saturated_minutes=(),
    )
