"""Which tasks succeeded, and who says so: a user or an evaluation, else only the task's own status."""

from collections.abc import Iterable
from typing import NamedTuple

from planner.advice.calls import Call

SAID = "an evaluation or a user said it of the task (outcome)"
STATUS = "the task's own status: ok is a success that nobody checked"


class TaskFacts(NamedTuple):
    """A task as its calls tell it; `succeeded` is None where the signal says nothing of it."""

    task_id: str
    start_ns: int
    rounds: int | None
    seconds: float | None
    succeeded: bool | None


class Judged(NamedTuple):
    """The tasks of one type under one signal of success."""

    signal: str
    tasks: tuple[TaskFacts, ...]

    @property
    def successes(self) -> list[TaskFacts]:
        """Those that succeeded, in order of start."""
        return [task for task in self.tasks if task.succeeded]


def judge(calls: Iterable[Call]) -> dict[str | None, Judged]:
    """Judge tasks by type. Where anybody said anything of a type, tasks of which nobody did are unknown."""
    first: dict[str, Call] = {}
    for call in calls:
        first.setdefault(call.task_id, call)
    by_type: dict[str | None, list[Call]] = {}
    for call in first.values():
        by_type.setdefault(call.task_type, []).append(call)
    found = {}
    for kind, members in by_type.items():
        is_said = any(call.outcome is not None for call in members)
        tasks = [
            TaskFacts(call.task_id, call.task_start_ns, call.task_rounds, call.task_s, _of(call, is_said))
            for call in members
        ]
        signal = SAID if is_said else STATUS
        found[kind] = Judged(signal, tuple(sorted(tasks, key=lambda task: (task.start_ns, task.task_id))))
    return found


def _of(call: Call, is_said: bool) -> bool | None:  # noqa: FBT001 - the one thing it depends on
    told = call.outcome if is_said else {"ok": "success", "error": "failure"}.get(call.task_status)
    return None if told is None else told == "success"
