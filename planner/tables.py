"""Results of the planner as tables: one row per policy, per figure of a workload, per bill."""

import math
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from planner.backtest import Backtest, Case, Result, coverage, replay
from planner.outcome import Waits
from planner.policy_file import NamedBlocks
from planner.states import STATES
from taximeter.clock import to_datetime, to_ns
from taximeter.units import share, usd

_USD = pa.decimal128(38, 12)
_SHORT = (
    "policy",
    "cost_usd",
    "saving_ratio",
    "gpu_hours",
    "cold_starts",
    "added_wait_s_p50",
    "added_wait_s_p95",
    "added_wait_s_p99",
    "task_added_wait_s_p95",
    "slo_ratio",
    "keeps_slo",
    "on_front",
    "calibration_error_ratio",
    "coverage_ratio",
)


def instant_ns(value: datetime) -> int:
    """Read an instant of a report, which has no zone and is UTC, as nanoseconds."""
    return to_ns(value if value.tzinfo else value.replace(tzinfo=UTC))


def backtest_table(done: Backtest, *, is_short: bool = False) -> pa.Table:
    """Give one row per policy, what really ran first; `is_short` has only what a terminal has room for."""
    rows = [*_recorded_row(done), *(_row(result, done) for result in done.results)]
    schema = pa.schema([(name, kind) for name, kind in _SCHEMA if not is_short or name in _SHORT])
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)


def _waits(prefix: str, waits: Waits) -> dict[str, float | None]:
    return {f"{prefix}_p50": waits.p50, f"{prefix}_p95": waits.p95, f"{prefix}_p99": waits.p99}


_SCHEMA: list[tuple[str, pa.DataType]] = [
    ("deployment", pa.string()),
    ("policy", pa.string()),
    ("cost_usd", _USD),
    ("saving_usd", _USD),
    ("saving_ratio", pa.float64()),
    ("gpu_hours", pa.float64()),
    ("billed_gpu_hours", pa.float64()),
    ("cold_starts", pa.int64()),
    ("hot_wakes", pa.int64()),
    *((name, pa.float64()) for name in _waits("added_wait_s", Waits(None, None, None))),
    *((name, pa.float64()) for name in _waits("task_added_wait_s", Waits(None, None, None))),
    *((name, pa.float64()) for name in _waits("wait_s", Waits(None, None, None))),
    ("slo_ratio", pa.float64()),
    ("keeps_slo", pa.bool_()),
    ("on_front", pa.bool_()),
    ("calibration_error_ratio", pa.float64()),
    ("calibration_note", pa.string()),
    ("coverage_ratio", pa.float64()),
    *((f"{state}_gpu_hours", pa.float64()) for state in STATES),
    ("most_replicas", pa.int64()),
    ("unfinished_steps", pa.int64()),
    ("preempted_steps", pa.int64()),
    ("provenance", pa.string()),
]


def _recorded_row(done: Backtest) -> list[dict[str, Any]]:
    recorded = done.case.recorded
    if recorded.gpu_hours is None:
        return []
    states = recorded.gpu_hours_by_state or {}
    return [
        {
            "deployment": done.case.workload.deployment,
            "policy": "as recorded",
            "cost_usd": recorded.cost_usd,
            "gpu_hours": recorded.gpu_hours,
            "coverage_ratio": done.coverage_ratio,
            "calibration_error_ratio": done.calibration.error_ratio,
            "calibration_note": done.calibration.note,
            **{f"{state}_gpu_hours": states.get(state, 0.0) for state in STATES},
            "provenance": "recorded",
        }
    ]


def _row(result: Result, done: Backtest) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "deployment": done.case.workload.deployment,
        "policy": outcome.policy,
        "cost_usd": outcome.cost_usd,
        "saving_usd": result.saving_usd,
        "saving_ratio": result.saving_ratio,
        "gpu_hours": outcome.gpu_hours,
        "billed_gpu_hours": outcome.billed_gpu_hours,
        "cold_starts": outcome.cold_starts,
        "hot_wakes": outcome.hot_wakes,
        **_waits("added_wait_s", outcome.added_wait),
        **_waits("task_added_wait_s", outcome.task_added_wait),
        **_waits("wait_s", outcome.wait),
        "slo_ratio": outcome.slo_ratio,
        "keeps_slo": result.keeps_slo,
        "on_front": result.is_on_front,
        "calibration_error_ratio": done.calibration.error_ratio,
        "calibration_note": done.calibration.note,
        "coverage_ratio": done.coverage_ratio,
        **{f"{state}_gpu_hours": hours for state, hours in outcome.gpu_hours_by_state.items()},
        "most_replicas": outcome.most_replicas,
        "unfinished_steps": outcome.unfinished_steps,
        "preempted_steps": outcome.preempted_steps,
        "provenance": "simulated"
        if done.case.workload.assumed is None
        else "simulated, service times assumed",
    }


def sentence(done: Backtest) -> str:
    """Say the answer: the cheapest policy that keeps the SLO, with what must be read beside it."""
    slo = done.case.slo
    goal = f"{share(slo.share)} of calls with at most {slo.added_wait_s:g} s added"
    if done.cheapest is None:
        return f"No policy with a known price keeps the SLO ({goal})."
    best = next(result for result in done.results if result.outcome.policy == done.cheapest)
    told = f"Cheapest policy that keeps the SLO ({goal}): {done.cheapest}, {usd(best.outcome.cost_usd)}"
    if best.saving_ratio is not None:
        word = "less" if best.saving_ratio >= 0 else "more"
        told += f", {share(abs(best.saving_ratio))} {word} than what ran"
    error = done.calibration
    known = error.note if error.error_ratio is None else f"{share(error.error_ratio)} ({error.note})"
    return f"{told}. Coverage {share(done.coverage_ratio)}; calibration error: {known}."


def workload_table(case: Case) -> pa.Table:
    """Give one row: what would be replayed, and how each part of it is known."""
    load, facts = case.workload, case.facts
    critical = sum(
        1 for slack, served in zip(load.slack_s, load.served, strict=True) if served and slack <= 0
    )
    waits = [
        wait for wait, served in zip(load.wait_s, load.served, strict=True) if served and not math.isnan(wait)
    ]
    row = {
        "deployment": load.deployment,
        "kind": load.kind,
        "from_at": to_datetime(load.start_ns).replace(tzinfo=None),
        "horizon_s": load.horizon_s,
        "tasks": len(load.task_ids),
        "steps": load.steps,
        "served_steps": load.served_steps,
        "critical_ratio": critical / load.served_steps,
        "call_p50_s": facts.call_p50_s,
        "call_p95_s": facts.call_p95_s,
        "tool_p50_s": facts.tool_p50_s,
        "served_s": sum(took for took, served in zip(load.recorded_s, load.served, strict=True) if served),
        "recorded_wait_s": sum(waits) if load.queueing in {"measured", "estimated"} else None,
        "queueing": load.queueing,
        "slow_down_ratio": load.slow_down,
        "most_in_flight": facts.most_in_flight,
        "concurrency": facts.concurrency,
        "replicas": facts.replicas,
        "saturated_minutes": len(load.saturated_minutes),
        "coverage_ratio": coverage(case),
        "assumed": load.assumed,
    }
    schema = pa.schema([(name, _kind(name)) for name in row])
    return pa.Table.from_pylist([row], schema)


_TEXTS = {"deployment", "kind", "queueing", "assumed"}


def _kind(name: str) -> pa.DataType:
    if name in _TEXTS:
        return pa.string()
    if name == "from_at":
        return pa.timestamp("us")
    return pa.float64() if name.endswith(("_s", "_ratio")) else pa.int64()


_BILLS: tuple[tuple[str, float, float, str], ...] = (
    ("hourly, as many as were ever used", 3_600.0, 0.0, "fixed"),
    ("hourly, scale to zero", 3_600.0, 0.0, "queue_length"),
    ("per minute, scale to zero", 60.0, 0.0, "queue_length"),
    ("per second, 60 s minimum, scale to zero", 1.0, 60.0, "queue_length"),
    ("per second, scale to zero", 1.0, 0.0, "queue_length"),
)


def billing_table(case: Case) -> pa.Table:
    """Give one row per bill: a fixed fleet, and one let go after a minute under each way to count time."""
    rows = [_bill_row(case, *bill) for bill in _BILLS]
    kinds = {"bill": pa.string(), "policy": pa.string(), "cost_usd": _USD, "cold_starts": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in rows[0]])
    return pa.Table.from_pylist(rows, schema)


def _bill_row(case: Case, bill: str, grain_s: float, minimum_s: float, policy: str) -> dict[str, Any]:
    pools = tuple(
        pool._replace(billing=pool.billing._replace(grain_s=grain_s, minimum_s=minimum_s))
        for pool in case.fleet.pools
    )
    blocks = {"fixed": {"replicas": case.facts.most_replicas}, "queue_length": {"tick_s": 5.0}}
    block = {policy: blocks[policy]}
    outcome = replay(case._replace(fleet=case.fleet._replace(pools=pools)), NamedBlocks.model_validate(block))
    return {
        "bill": bill,
        "policy": outcome.policy,
        "cost_usd": outcome.cost_usd,
        "gpu_hours": outcome.gpu_hours,
        "billed_gpu_hours": outcome.billed_gpu_hours,
        "cold_starts": outcome.cold_starts,
        **_waits("added_wait_s", outcome.added_wait),
        "slo_ratio": outcome.slo_ratio,
        "coverage_ratio": coverage(case),
    }
