"""What a policy would have cost and how long it would have let wait: the figures of one replay."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import polars as pl

from planner.fleet import Fleet
from planner.simulate import Run
from planner.states import STATES, replica_seconds
from planner.workload import Workload

_S_PER_HOUR = 3_600
_NOTHING_S = 1e-6
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
    steps = _steps(workload, run)
    added, waits = _step_waits(steps)
    kept = int((added <= slo.added_wait_s + 1e-9).sum())
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
        task_added_wait=percentiles(_task_waits(steps)),
        wait=percentiles(waits),
        slo_ratio=kept / len(added) if len(added) else None,
        gpu_hours_by_state={state: seconds[state] * gpus / _S_PER_HOUR for state in STATES},
        most_replicas=_most(run),
        unfinished_steps=run.unfinished,
        preempted_steps=run.preempted_steps,
        line=_line(run),
    )


def percentiles(values: Sequence[float] | pl.Series) -> Waits:
    """Tell p50, p95 and p99: the smallest value that at least that share does not exceed."""
    ordered = pl.Series(values, dtype=pl.Float64).sort()
    found = []
    for quantile, least in _LEAST_VALUES.items():
        count = len(ordered)
        value = float(ordered[math.ceil(quantile * count) - 1]) if count >= least else math.inf
        found.append(value if math.isfinite(value) else None)
    return Waits(*found)


def _steps(workload: Workload, run: Run) -> pl.DataFrame:
    """Give each step as recorded and as replayed; a step that never ended waits for ever.

    Where nobody knows how long a step queued in the recording, all that it queues now is added.
    """
    floats = {
        "start": workload.start_s,
        "recorded": workload.recorded_s,
        "queued": workload.wait_s,
        "arrived": run.arrived_s,
        "begun": run.begun_s,
        "ended": run.ended_s,
    }
    columns = {name: pl.Series(values, dtype=pl.Float64) for name, values in floats.items()}
    task = pl.Series(workload.task, dtype=pl.Int64)
    served = pl.Series(workload.served, dtype=pl.Boolean)
    known = pl.when(pl.col("served")).then(pl.col("queued").fill_nan(0.0)).otherwise(0.0)
    endless = pl.col("ended").is_nan()
    return pl.DataFrame({"task": task, "served": served, **columns}).with_columns(
        before=pl.col("recorded") + known,
        ended=pl.when(endless).then(math.inf).otherwise(pl.col("ended")),
        begun=pl.when(endless).then(math.inf).otherwise(pl.col("begun")),
        arrived=pl.when(endless & pl.col("arrived").is_nan()).then(0.0).otherwise(pl.col("arrived")),
        came=pl.col("arrived").fill_nan(math.inf),
    )


def _step_waits(steps: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Give added waits and plain waits of all served steps."""
    calls = steps.filter("served").select(
        added=_nothing_is_zero(pl.col("ended") - pl.col("arrived") - pl.col("before")),
        wait=pl.col("begun") - pl.col("arrived"),
    )
    return calls["added"], calls["wait"]


def _task_waits(steps: pl.DataFrame) -> pl.Series:
    """Give how much later each task ended than it did, counted from its own begin in both."""
    tasks = steps.group_by("task").agg(
        recorded=(pl.col("start") + pl.col("before")).max() - pl.col("start").min(),
        ended=pl.col("ended").max(),
        came=pl.col("came").min(),
    )
    took = pl.when(pl.col("ended").is_infinite()).then(math.inf).otherwise(pl.col("ended") - pl.col("came"))
    return tasks.select(added=_nothing_is_zero(took - pl.col("recorded")))["added"]


def _nothing_is_zero(value: pl.Expr) -> pl.Expr:
    """Make nothing of what floating point leaves of nothing."""
    return pl.when(value.abs() < _NOTHING_S).then(0.0).otherwise(value)


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
