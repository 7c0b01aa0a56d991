"""Loads for tests of advice: calls, cards and deployments made by hand, told as the reports tell them."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from planner.advice.calls import Call, Rates, cost
from planner.advice.load import Deployment, Load, Window
from planner.backtest import Case, Recorded, calibrate
from planner.facts import look
from planner.fleet import Fleet
from planner.outcome import Slo
from planner.workload import Workload
from taximeter.clock import NS_PER_S, to_datetime

START_NS = 1_790_035_200 * NS_PER_S  # a Tuesday, 00:00 UTC
DAY_S = 86_400
RATES = Rates(
    input=Decimal("0.00001"),
    output=Decimal("0.00004"),
    cache_read=Decimal("0.000001"),
    cache_write=Decimal("0.0000125"),
)
CHEAP = Rates(input=Decimal("0.000001"), output=Decimal("0.000004"))


def call(number: int, start_s: float = 0.0, took_s: float = 1.0, **columns: Any) -> Call:
    """Make a call of a cent a thousand input tokens; its cost follows from its tokens."""
    start_ns = START_NS + round(start_s * NS_PER_S)
    told: dict[str, Any] = {
        "step_id": f"s{number}",
        "task_id": f"t{number}",
        "start_ns": start_ns,
        "end_ns": start_ns + round(took_s * NS_PER_S),
        "task_start_ns": start_ns,
        "task_rounds": 1,
        "task_s": took_s,
        "task_type": "work",
        "agent": "coder",
        "name": "chat",
        "provider": "maker",
        "model": "large",
        "input": 1_000,
        "output": 100,
        "rates": RATES,
        "price_source": "price list",
    }
    made = Call(**{**told, **columns})
    return made if "cost_usd" in columns else made._replace(cost_usd=cost(made))


def load(calls: Sequence[Call] = (), days: float = 1.0, **parts: Any) -> Load:
    """Make a load of so many days."""
    until_ns = START_NS + round(days * DAY_S) * NS_PER_S
    return Load(window=Window(START_NS, until_ns), calls=tuple(calls), **parts)


def deployment(
    workload: Workload,
    fleet: Fleet,
    *,
    name: str = "own",
    replicas: int = 2,
    days: float = 1.0,
    gpu_coverage_ratio: float = 1.0,
    **row: Any,
) -> Deployment:
    """Make a deployment that held so many replicas all the time, at the price of the fleet's first pool."""
    horizon_s = days * DAY_S
    moved = replace(workload, start_ns=START_NS, horizon_s=horizon_s, deployment=name)
    pool = fleet.pools[0]
    hours = horizon_s / 3_600 * replicas
    price = pool.usd_per_replica_hour
    recorded = Recorded(
        cost_usd=None if price is None else price * Decimal(str(hours)),
        gpu_hours=hours * pool.gpus_per_replica,
        line=((0.0, replicas), (horizon_s, 0)),
        gpu_coverage_ratio=gpu_coverage_ratio,
    )
    case = Case(moved, fleet, look(moved, fleet, replicas), Slo(), recorded)
    told = {
        "deployment": name,
        "until_at": to_datetime(START_NS + round(horizon_s) * NS_PER_S),
        "sku": "CARD",
        "gpus_per_replica": pool.gpus_per_replica,
        "usd_per_gpu_hour": price,
        "price_source": "contract",
    }
    return Deployment(name, told | row, case, calibrate(case))


def gpu(name: str = "h/GPU-1/b", **columns: Any) -> dict[str, Any]:
    """Make a card as `recommendations_gpus` tells it: held for a day at $1 an hour, idle all the time."""
    return {
        "gpu_id": name,
        "gpu_name": "CARD",
        "sku": "CARD",
        "deployment": None,
        "until_at": to_datetime(START_NS + DAY_S * NS_PER_S),
        "held_s": float(DAY_S),
        "used_s": 0.0,
        "idle_s": float(DAY_S),
        "unknown_s": 0.0,
        "cost_usd": Decimal(24),
        "price_source": "contract",
        "memory_used_mib": None,
        "memory_total_mib": None,
        "still_held": True,
        "simulated": False,
        **columns,
    }
