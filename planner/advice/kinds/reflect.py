"""Reflect on evidence instead of always: reflection where nothing had failed. A range: answers may change."""

from collections.abc import Iterator
from decimal import Decimal

from planner.advice.calls import Call, total
from planner.advice.found import Advice, Found, Refusal, Saving
from planner.advice.groups import Group, groups
from planner.advice.load import Load
from planner.advice.rules import match, rule
from planner.advice.success import judge
from taximeter.units import count, share, usd

KIND = "reflect"


def find(load: Load) -> Iterator[Found]:
    """Advise where calls are named reflection, and most followed no failed step.

    The signal of reflection is the name of the agent or the step; that of evidence a step that
    failed before it in its task, tools included.
    """
    seen = False
    for group in groups(load, KIND):
        if isinstance(group, Refusal):
            yield group
            continue
        calls = [call for call in group.calls if match("reflect", call.agent, call.name)]
        if len(calls) >= rule("least", "calls"):
            seen = True
            yield from _of_group(group, calls, load)
    if not seen and load.calls:
        reason = "no agent or step is named as reflection (reflect, critique, verify ...)"
        yield Refusal(KIND, "all model calls", reason)


def _of_group(group: Group, calls: list[Call], load: Load) -> Iterator[Found]:
    idle = [call for call in calls if not call.failed_before]
    if not idle:
        return
    judged = judge(load.calls)
    good = {task.task_id for one in judged.values() for task in one.successes}
    own = total(idle)
    if own <= 0:
        return
    word = match("reflect", idle[0].agent, idle[0].name)
    succeeded = sum(call.task_id in good for call in idle) / len(idle)
    yield Advice(
        kind=KIND,
        target=group.title,
        sentence=f"Let {group.title} reflect only where a step has failed: {count(len(idle))} of"
        f" {count(len(calls))} reflections followed no failed step, and {share(succeeded)} of these are in"
        " tasks that"
        f" succeeded. They cost {usd(own)}.",
        change="Call the reflecting step when a tool failed, a check did not pass or a call was tried again,"
        " not in"
        " every round.",
        cost_usd=total(group.calls),
        saving=Saving(
            low=Decimal(0),
            high=own,
            assumption="at most all of them are needless and what follows stays as it was; at least none is:"
            " what a"
            " reflection prevented is not in the recording",
        ),
        evidence=group.evidence(load, len(idle)),
        signal=f"named “{word[1] if word else ''}”; no failed step before it in its task",
        agent=group.agent,
        coverage_ratio=group.coverage_ratio,
        confidence=group.trust(load, is_replayed=False),
        price_source=group.price_source,
    )
