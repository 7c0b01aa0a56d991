"""Two loads as one, and for how long both were busy at once."""

from dataclasses import replace
from math import isnan

from planner.workload import Workload

Stretches = list[tuple[float, float]]


def merge(first: Workload, second: Workload) -> Workload:
    """Put two loads of the same time on one clock; their tasks stay loops of their own."""
    start_ns = min(first.start_ns, second.start_ns)
    ends = [load.start_ns / 1e9 + load.horizon_s for load in (first, second)]
    horizon_s = max(ends) - start_ns / 1e9
    loads = [load.within(start_ns, horizon_s) for load in (first, second)]
    order = sorted(
        (
            (start, number, step)
            for number, load in enumerate(loads)
            for step, start in enumerate(load.start_s)
        ),
    )
    place = {(number, step): new for new, (_, number, step) in enumerate(order)}
    steps = [(loads[number], number, step) for _, number, step in order]
    tasks, profiles = len(loads[0].task_ids), len(loads[0].profiles)
    return replace(
        loads[0],
        deployment=f"{first.deployment} and {second.deployment}",
        task_ids=[*loads[0].task_ids, *(f"{name}#2" for name in loads[1].task_ids)],
        profiles=[*loads[0].profiles, *loads[1].profiles],
        task=[load.task[step] + number * tasks for load, number, step in steps],
        start_s=[load.start_s[step] for load, _, step in steps],
        gap_s=[load.gap_s[step] for load, _, step in steps],
        work_s=[load.work_s[step] for load, _, step in steps],
        recorded_s=[load.recorded_s[step] for load, _, step in steps],
        wait_s=[load.wait_s[step] for load, _, step in steps],
        served=[load.served[step] for load, _, step in steps],
        tokens=[load.tokens[step] for load, _, step in steps],
        profile=[load.profile[step] + number * profiles for load, number, step in steps],
        before=[load.before[step] for load, _, step in steps],
        after=[tuple(place[number, other] for other in load.after[step]) for load, number, step in steps],
        slack_s=[load.slack_s[step] for load, _, step in steps],
        slow_down=max(load.slow_down for load in loads),
        saturated_minutes=(),
    )


def busy_overlap(first: Workload, second: Workload) -> float:
    """Tell the share of the time in which either serves that both do; 0 where neither ever does."""
    one, two = busy(first), busy(second)
    both = _shared_s(one, two)
    either = sum(end - begin for begin, end in one) + sum(end - begin for begin, end in two) - both
    return both / either if either > 0 else 0.0


def busy(load: Workload) -> Stretches:
    """Give the stretches in which a load was served, in seconds since the epoch, joined and in order."""
    zero = load.start_ns / 1e9
    found: Stretches = []
    spans = []
    for start, wait, took, served in zip(
        load.start_s, load.wait_s, load.recorded_s, load.served, strict=True
    ):
        if served:
            begin = zero + start + (0.0 if isnan(wait) else wait)
            spans.append((begin, begin + took))
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _shared_s(one: Stretches, two: Stretches) -> float:
    shared = 0.0
    here = there = 0
    while here < len(one) and there < len(two):
        shared += max(min(one[here][1], two[there][1]) - max(one[here][0], two[there][0]), 0.0)
        if one[here][1] <= two[there][1]:
            here += 1
        else:
            there += 1
    return shared
