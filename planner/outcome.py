"""What a policy would have cost and how long it would have let wait: the figures of one replay."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from planner.fleet import Fleet
from planner.simulate import Run
from planner.states import STATES, replica_seconds
from planner.workload import Workload

_S_PER_HOUR = 3_600
# A percentile is told from this many values on: one of them lies beyond it.
_LEAST_VALUES = {0.5: 1, 0.95: 20, 0.99: 100}


class Waits(NamedTuple):
    """Percentiles in seconds; None where there are too few values, or some never ended."""

    p50: float | None
    p95: float | None
    p99: float | None


class Outcome(NamedTuple):
    """The figures of one policy; money and percentiles are None where they are unknown.

    `added_wait` of a step is its time from arrival to answer less the recorded one, of a task its end less
    the recorded one. GPU-hours are of what is held; `billed_gpu_hours` are in the provider's grain.
    """

    policy: str
    cost_usd: Decimal | None
    gpu_hours: float
    billed_gpu_hours: float
    cold_starts: int
    hot_wakes: int
    added_wait: Waits
    task_added_wait: Waits
    wait: Waits
    slo_ratio: float | None
    gpu_hours_by_state: dict[str, float]
    most_replicas: int
    unfinished_steps: int
    preempted_steps: int
    line: tuple[tuple[float, int], ...] = ()


class Slo(NamedTuple):
    """The wait that users accept, and the share of steps that must keep it."""

    added_wait_s: float = 2.0
    share: float = 0.95


def measure(workload: Workload, run: Run, fleet: Fleet, policy: str, slo: Slo) -> Outcome:
    """Measure a replay."""
    added, waits = _step_waits(workload, run)
    kept = sum(value <= slo.added_wait_s + 1e-9 for value in added)
    held_s, billed_ns, cost = _bill(run, fleet)
    gpus = fleet.pools[0].gpus_per_replica
    cold_is_held = all(pool.cold_start.is_billed for pool in fleet.pools)
    seconds = replica_seconds(workload, run, fleet.pools[0].concurrency, cold_is_held=cold_is_held)
    return Outcome(
        policy=policy,
        cost_usd=cost,
        gpu_hours=held_s * gpus / _S_PER_HOUR,
        billed_gpu_hours=billed_ns * gpus / 1e9 / _S_PER_HOUR,
        cold_starts=run.replicas.cold_starts,
        hot_wakes=run.replicas.hot_wakes,
        added_wait=percentiles(added),
        task_added_wait=percentiles(_task_waits(workload, run)),
        wait=percentiles(waits),
        slo_ratio=kept / len(added) if added else None,
        gpu_hours_by_state={state: seconds[state] * gpus / _S_PER_HOUR for state in STATES},
        most_replicas=_most(run),
        unfinished_steps=run.unfinished,
        preempted_steps=run.preempted_steps,
        line=_line(run),
    )


def percentiles(values: Sequence[float]) -> Waits:
    """Tell p50, p95 and p99: the smallest value that at least that share does not exceed."""
    ordered = sorted(values)
    found = []
    for quantile, least in _LEAST_VALUES.items():
        value = ordered[math.ceil(quantile * len(ordered)) - 1] if len(ordered) >= least else math.inf
        found.append(value if math.isfinite(value) else None)
    return Waits(*found)


def _step_waits(workload: Workload, run: Run) -> tuple[list[float], list[float]]:
    """Give added waits and plain waits of all served steps; a step that never ended waits for ever.

    Where nobody knows how long a step queued in the recording, all that it queues now is added.
    """
    added: list[float] = []
    waits: list[float] = []
    slowed = workload.recorded_s
    for step, is_served in enumerate(workload.served):
        if not is_served:
            continue
        ended = run.ended_s[step]
        if math.isnan(ended):
            added.append(math.inf)
            waits.append(math.inf)
            continue
        queued = workload.wait_s[step]
        before = slowed[step] + (0.0 if math.isnan(queued) else queued)
        took = ended - run.arrived_s[step]
        # What floating point makes of nothing is nothing.
        added.append(0.0 if abs(took - before) < 1e-6 else took - before)  # noqa: PLR2004
        waits.append(run.begun_s[step] - run.arrived_s[step])
    return added, waits


def _task_waits(workload: Workload, run: Run) -> list[float]:
    """Give how much later each task with a call ended than it did, pauses of the client not counted twice."""
    before: dict[int, float] = {}
    after: dict[int, float] = {}
    begun: dict[int, float] = {}
    begun_before: dict[int, float] = {}
    for step, task in enumerate(workload.task):
        start = workload.start_s[step]
        end = start + workload.recorded_s[step]
        if workload.served[step] and not math.isnan(workload.wait_s[step]):
            end += workload.wait_s[step]
        before[task] = max(before.get(task, -math.inf), end)
        begun_before[task] = min(begun_before.get(task, math.inf), start)
        ended = run.ended_s[step]
        after[task] = max(after.get(task, -math.inf), math.inf if math.isnan(ended) else ended)
        arrived = run.arrived_s[step]
        begun[task] = min(begun.get(task, math.inf), math.inf if math.isnan(arrived) else arrived)
    found = []
    for task, end in after.items():
        took = math.inf if math.isinf(end) else end - begun[task]
        recorded = before[task] - begun_before[task]
        found.append(0.0 if abs(took - recorded) < 1e-6 else took - recorded)  # noqa: PLR2004
    return found


def _bill(run: Run, fleet: Fleet) -> tuple[float, int, Decimal | None]:
    """Give replica-seconds held, nanoseconds billed, and the price of these."""
    held_s = 0.0
    billed = [0] * len(fleet.pools)
    replicas = run.replicas
    for replica, pool_number in enumerate(replicas.pool):
        pool = fleet.pools[pool_number]
        ready, gone = replicas.ready_s[replica], replicas.gone_s[replica]
        begin = replicas.asked_s[replica] if pool.cold_start.is_billed else ready
        if begin is None or gone is None:
            continue
        held_s += gone - begin
        billed[pool_number] += pool.billing.billed_ns(gone - begin)
    costs = [pool.cost_usd(billed_ns) for pool, billed_ns in zip(fleet.pools, billed, strict=True)]
    used = [cost for cost, billed_ns in zip(costs, billed, strict=True) if billed_ns]
    known = [cost for cost in used if cost is not None]
    priced = all(cost is not None for cost in costs) if not used else len(known) == len(used)
    return held_s, sum(billed), sum(known, Decimal(0)) if priced else None


def _line(run: Run) -> tuple[tuple[float, int], ...]:
    """Give (second, replicas up) at each change."""
    found: list[tuple[float, int]] = []
    count = 0
    for instant, change in zip(run.replicas.up_t, run.replicas.up_by, strict=True):
        count += change
        if found and found[-1][0] == instant:
            found[-1] = (instant, count)
        else:
            found.append((instant, count))
    return tuple(found)


def _most(run: Run) -> int:
    return max((count for _, count in _line(run)), default=0)
