"""Loads and looks for tests: queues whose theory is known, loops, and observations made by hand."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.policy import Habits, Observation
from planner.workload import Step, Workload, build

AT_ONCE = ColdStart(Delay(0.0, 0.0))


def arrivals(gaps_s: Sequence[float], works_s: Sequence[float], horizon_s: float = 0.0) -> Workload:
    """Make an open-loop load of calls that come one after another, each a task of its own."""
    steps, now = [], 0.0
    for number, (gap, work) in enumerate(zip(gaps_s, works_s, strict=True)):
        now += gap
        steps.append(Step(number, number, now, now + work, work, True, 0.0, 100.0))
    return made(steps, horizon_s)


def loops(
    tasks: int, rounds: int, within_s: float, seed: int = 1, *, call_s: float = 4.0, tool_s: float = 6.0
) -> Workload:
    """Make tasks that come at random in a range, each of so many calls with a tool after each."""
    random = Random(seed)  # noqa: S311 - a test's load must be the same each time
    steps = []
    for task in range(tasks):
        now = random.uniform(0.0, within_s)
        for is_call, mean in [(True, call_s), (False, tool_s)] * rounds:
            took = random.expovariate(1 / mean)
            steps.append(Step(task, task, now, now + took, took, is_call, 0.0, 1_000.0))
            now += took
    return made(steps, within_s)


def made(steps: list[Step], horizon_s: float = 0.0) -> Workload:
    """Make a load of steps, tasks named by their numbers."""
    tasks = max((step.task for step in steps), default=-1) + 1
    names = [str(number) for number in range(tasks)]
    return build(steps, deployment="d", task_ids=names, profiles=["tool"], horizon_s=horizon_s)


def pool(concurrency: int = 1, cold_start: ColdStart = AT_ONCE, **changes: Any) -> Fleet:
    """Make a fleet of one pool."""
    return Fleet((Pool(concurrency=concurrency, cold_start=cold_start)._replace(**changes),))


def look(now_s: float = 0.0, ready: int = 1, in_system: int = 0, **changes: object) -> Observation:
    """Make an observation: calls beyond what the ready replicas serve are queued."""
    concurrency = int(str(changes.pop("concurrency", 1)))
    running = min(in_system, ready * concurrency)
    made_up = Observation(now_s, now_s, ready, 0, in_system - running, running, concurrency=concurrency)
    return made_up._replace(**changes)  # type: ignore[arg-type] # a test says what it changes


class Scripted(Habits):
    """A policy that answers what a function of the time says."""

    name = "scripted"
    interval_s = 1.0

    def __init__(self, answer: Callable[[float], int], start: int = 0) -> None:
        self._answer, self.start = answer, start

    def decide(self, seen: Observation) -> int:
        """Answer as scripted."""
        return self._answer(seen.now_s)
