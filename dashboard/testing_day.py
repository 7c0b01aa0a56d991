"""One small worked day for tests of the pages; the figures that tests assert are written down here.

Two replicas of one GPU each serve `qwen-coder` at $3.99 an hour; a research task runs on a model API.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from dashboard.testing import empty, table
from dashboard.testing_advice import advice, followed

Row = dict[str, Any]
START = datetime(2026, 11, 30, 9, 0)  # noqa: DTZ001 - reports give naive UTC
MULTIPLIER = 10.0  # 2.00 x 2.00 x 1.25 x 2.00, and 2.00 USD over 0.20 USD
TOKEN_MULTIPLIER = 12.0  # 30,000 over 2,500
BUCKETS: tuple[tuple[str, int, str, float | None, float | None], ...] = (
    ("first_prompt", 2_000, "0.10", None, None),
    ("answer", 500, "0.10", None, None),
    ("fresh_later", 4_000, "0.20", 2.0, 2.6),
    ("resent_context", 20_000, "0.40", 2.0, 26.5 / 6.5),
    ("retried", 3_500, "0.20", 1.25, 30 / 26.5),
    ("gpu_wait", 0, "1.00", 2.0, 1.0),
)
GPUS = ("node1/GPU-aaaa0001/0000:01:00.0", "node1/GPU-bbbb0002/0000:02:00.0")


def canned() -> dict[str, pa.Table]:
    """Make the day: reports by name."""
    return empty() | {
        "tasks": table("tasks", _tasks()),
        "task_steps": table("task_steps", _steps()),
        "multipliers": table("multipliers", _multipliers()),
        "gpu_ledger": table("gpu_ledger", _ledger()),
        "idle_waste": table("idle_waste", _waste()),
        "spend": table("spend", _spend()),
        "gpu_timeline": table("gpu_timeline", _timeline()),
        "gpu_series": table("gpu_series", _series()),
        "gpus_now": table("gpus_now", _now()),
        "replica_need": table("replica_need", _need()),
        "health": table("health", _health()),
        "recommendations": table("recommendations", advice(START)),
        "recommendations_followed": table("recommendations_followed", followed(START)),
    }


def simulated() -> dict[str, pa.Table]:
    """Make the same day, said to come from a generator."""
    row = {"check": "simulated_rows", "status": "warn", "value": 42.0, "unit": "rows"}
    return canned() | {"health": table("health", [*_health()[:-1], row])}


def _tasks() -> list[Row]:
    shared: Row = {
        "tenant": "default",
        "status": "ok",
        "steps": 6,
        "rounds": 3,
        "loops": 0,
        "tool_calls": 2,
        "tool_retries": 0,
        "retries": 1,
        "usage_known_ratio": 1.0,
        "priced_ratio": 1.0,
        "gpu_known_ratio": 1.0,
        "provisional": False,
        "simulated": False,
    }
    coder: Row = {
        "task_id": "aa01",
        "trace_ids": ["aa01"],
        "name": "fix <the> parser",
        "agent": "coder",
        "task_type": "bugfix",
        "started_at": START,
        "ended_at": START + timedelta(minutes=10),
        "duration_s": 600.0,
        "llm_calls": 4,
        "llm_attempts": 5,
        "total_tokens": 30_000,
        "gpu_cost_usd": Decimal("1.00"),
        "wait_cost_usd": Decimal("1.00"),
        "token_cost_usd": None,
        "total_cost_usd": Decimal("2.00"),
        "single_pass_cost_usd": Decimal("0.20"),
        "cost_multiplier": MULTIPLIER,
        "token_multiplier": 12.0,
    }
    research: Row = {
        "task_id": "bb02",
        "trace_ids": ["bb02"],
        "name": "compare vendors",
        "agent": "researcher",
        "started_at": START + timedelta(minutes=5),
        "ended_at": START + timedelta(minutes=6),
        "duration_s": 60.0,
        "llm_calls": 4,
        "llm_attempts": 4,
        "total_tokens": 8_000,
        "token_cost_usd": Decimal("0.05"),
        "token_cost_low_usd": Decimal("0.04"),
        "token_cost_high_usd": Decimal("0.05"),
        "total_cost_usd": Decimal("0.05"),
        "usage_known_ratio": 0.5,
        "status": "error",
        "provisional": True,
    }
    unpriced: Row = {
        "task_id": "cc03",
        "trace_ids": ["cc03"],
        "started_at": START + timedelta(minutes=20),
        "ended_at": START + timedelta(minutes=21),
        "duration_s": 60.0,
        "llm_calls": 2,
        "llm_attempts": 2,
        "priced_ratio": 0.0,
    }
    return [shared | coder, shared | research, shared | unpriced]


def _steps() -> list[Row]:
    def step(number: int, start_s: float, length_s: float, **more: Any) -> Row:
        return {
            "task_id": "aa01",
            "step_id": f"aa01-{number}",
            "thread": "aa01/coder/qwen3-coder",
            "agent": "coder",
            "kind": "llm",
            "name": "chat",
            "model": "qwen3-coder",
            "deployment": "qwen-coder",
            "started_at": START + timedelta(seconds=start_s),
            "duration_s": length_s,
            "status": "ok",
            "attempt": 1,
            "counted": True,
            "token_provenance": "reported",
            "cost_provenance": "measured",
            "gpu_provenance": "measured",
        } | more

    tool = {
        "kind": "tool",
        "name": "tool",
        "tool_name": "run_tests",
        "thread": None,
        "model": None,
        "deployment": None,
    }
    return [
        step(1, 0, 60, input_tokens=2_000, output_tokens=300, cost_usd=Decimal("0.10")),
        step(2, 60, 240, **tool),
        step(3, 300, 30, status="error", input_tokens=3_500, cost_usd=Decimal("0.20")),
        step(4, 330, 90, attempt=2, input_tokens=9_000, output_tokens=400, cost_usd=Decimal("0.40")),
        step(5, 400, 60, **tool | {"tool_name": "read_file"}),
        step(6, 460, 140, input_tokens=12_000, output_tokens=500, cost_usd=Decimal("0.30")),
        step(7, 0, 600, kind="llm", name="a wrapper that is no step", counted=False),
    ]


def _multipliers() -> list[Row]:
    return [
        {
            "group_key": "all",
            "bucket": bucket,
            "tokens": tokens,
            "cost_usd": Decimal(cost),
            "share_ratio": float(Decimal(cost) / 2),
            "factor_ratio": factor,
            "token_factor_ratio": token_factor,
            "tasks": 2,
            "cost_tasks": 1,
            "tasks_left_out": 1,
        }
        for bucket, tokens, cost, factor, token_factor in BUCKETS
    ]


def _ledger() -> list[Row]:
    def row(quarter: int, gpu: int, state: str, gpu_s: float, cost: str | None, **more: Any) -> Row:
        return {
            "quarter_at": START + timedelta(minutes=15 * quarter),
            "gpu_id": GPUS[gpu],
            "deployment": "qwen-coder",
            "state": state,
            "provenance": "measured",
            "gpu_s": gpu_s,
            "cost_usd": None if cost is None else Decimal(cost),
            "provisional": False,
        } | more

    return [
        row(0, 0, "serving", 360.0, "0.40"),
        row(0, 0, "tool_wait", 240.0, "0.27"),
        row(0, 0, "no_task", 300.0, "0.33"),
        row(0, 1, "spare", 600.0, "0.66"),
        row(0, 1, "no_task", 300.0, "0.33"),
        row(1, 0, "no_task", 900.0, "1.00", provisional=True),
        row(1, 1, "unknown", 900.0, None, provenance="unknown", provisional=True),
    ]


def _waste() -> list[Row]:
    def row(cause: str, cost: str | None, gpu_s: float, tool: str | None = None) -> Row:
        return {
            "cause": cause,
            "deployment": "qwen-coder",
            "tool": tool,
            "gpu_s": gpu_s,
            "cost_usd": None if cost is None else Decimal(cost),
            "concurrency": 4,
        }

    return [
        row("tool_wait", "1.00", 900.0, "run_tests"),
        row("spare", "3.00", 2_700.0),
        row("no_task", "2.50", 2_250.0),
        row("unknown", None, 900.0),
    ]


def _spend() -> list[Row]:
    day = START.date()
    return [
        {
            "day": day,
            "group_key": "all",
            "token_cost_usd": Decimal("0.05"),
            "gpu_cost_usd": Decimal("1.00"),
            "idle_cost_usd": Decimal("6.50"),
            "total_cost_usd": Decimal("7.55"),
            "unknown_costs": 3,
        }
    ]


def _timeline() -> list[Row]:
    def row(gpu: int, start_s: int, end_s: int, state: str, cause: str | None = None) -> Row:
        return {
            "gpu_id": GPUS[gpu],
            "deployment": "qwen-coder",
            "replica": f"r{gpu}",
            "state": state,
            "cause": cause,
            "provenance": "measured",
            "stalled": False,
            "started_at": START + timedelta(seconds=start_s),
            "ended_at": START + timedelta(seconds=end_s),
            "duration_s": float(end_s - start_s),
        }

    return [
        row(0, 0, 60, "serving"),
        row(0, 60, 300, "tool_wait", "run_tests"),
        row(0, 300, 600, "serving"),
        row(0, 600, 900, "no_task"),
        row(0, 900, 1_800, "no_task"),
        row(1, 0, 600, "spare"),
        row(1, 600, 900, "no_task"),
    ]


def _series() -> list[Row]:
    busy, away = {*range(7), *range(31, 61)}, range(41, 50)
    return [
        {
            "t_at": START + timedelta(seconds=10 * i),
            "gpu_id": GPUS[0],
            "gpu_name": "H100",
            "deployment": "qwen-coder",
            "util_ratio": 0.9 if i in busy else 0.0,
        }
        for i in range(1, 61)
        if i not in away
    ]


def _now() -> list[Row]:
    shared = {"gpu_name": "NVIDIA H100 80GB HBM3", "sku": "H100-SXM", "deployment": "qwen-coder"}
    at = START + timedelta(minutes=30)
    return [
        shared
        | {
            "gpu_id": GPUS[0],
            "replica": "r0",
            "state": "no_task",
            "since_at": START + timedelta(minutes=10),
            "idle_s": 1_200.0,
            "last_sample_at": at,
            "last_util_ratio": 0.0,
            "usd_per_hour": Decimal("3.99"),
            "price_source": "contract 2026-11",
        },
        shared | {"gpu_id": GPUS[1], "replica": "r1", "state": "unknown"},
    ]


def _need() -> list[Row]:
    return [
        {
            "deployment": "qwen-coder",
            "replicas": 2,
            "most_needed": 1,
            "never_needed": 1,
            "usd_per_replica_hour": Decimal("3.99"),
            "from_at": START,
            "until_at": START + timedelta(minutes=30),
            "coverage_ratio": 0.97,
        }
    ]


def _health() -> list[Row]:
    return [
        {"check": "ingest_lag", "status": "ok", "value": 0.4, "unit": "s"},
        {"check": "last_sample", "status": "unknown", "value": None, "unit": "s", "detail": "none yet"},
        {"check": "spans:otel_genai", "status": "ok", "value": 1_234.0, "unit": "spans"},
        {"check": "law:ledger_tiles", "status": "ok", "value": 0.0, "unit": "rows"},
        {
            "check": "unpriced_ratio",
            "status": "warn",
            "value": 0.2,
            "unit": "ratio",
            "detail": "see unpriced",
        },
        {"check": "simulated_rows", "status": "ok", "value": 0.0, "unit": "rows"},
    ]
