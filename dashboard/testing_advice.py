"""Advice for tests of its page: what a run over a week found, and what became of a piece of it."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

Row = dict[str, Any]


def advice(start: datetime) -> list[Row]:
    """Make the advice of a run over the week before `start`, and one reason why there is none."""
    run: Row = {
        "run_id": "r1",
        "from_at": start - timedelta(days=7),
        "until_at": start,
        "made_at": start + timedelta(minutes=15),
        "simulated": False,
    }
    down: Row = {
        "advice_id": "d0d0",
        "verdict": "advice",
        "kind": "scale_down",
        "target": "qwen-coder",
        "deployment": "qwen-coder",
        "sentence": "Run qwen-coder with 1 replica.",
        "saving_usd_month": Decimal("2912.70"),
        "cost_usd_month": Decimal("5825.40"),
        "is_replayed": True,
        "added_wait_s_p95": 0.4,
        "added_wait_s_p99": 2.0,
        "confidence": "high",
        "signal": "replicas that the recorded calls needed at once",
        "coverage_ratio": 0.99,
        "calibration_error_ratio": 0.02,
        "evidence_report": "gpu_ledger",
        "evidence_params": '{"deployment": "qwen-coder", "since": 1, "until": 2}',
        "evidence_rows": 1_200,
        "change": "Hold 1.",
        "manifest": "kind: HorizontalPodAutoscaler\n",
        "price_source": "contract",
        "followed_at": start + timedelta(hours=1),
    }
    tools: Row = {
        "advice_id": "c0c0",
        "verdict": "advice",
        "kind": "cache_tools",
        "target": "tool <grep>",
        "sentence": "Keep the results of grep.",
        "saving_low_usd_month": Decimal(0),
        "saving_high_usd_month": Decimal("57.52"),
        "is_replayed": False,
        "assumption": "at least nothing",
        "confidence": "low",
        "signal": "equal hashes",
        "evidence_report": "duplicate_tools",
        "evidence_params": '{"since": 1, "until": 2}',
        "evidence_rows": 14,
        "change": "Answer from the first result.",
    }
    reason: Row = {
        "advice_id": "e0e0",
        "verdict": "none",
        "kind": "spot",
        "target": "qwen-coder",
        "sentence": "No advice: no spot price of H100-SXM is in the price book.",
    }
    together: Row = {
        "verdict": "combined",
        "target": "scale_down qwen-coder",
        "sentence": "Together 1 piece of replayed advice.",
        "saving_usd_month": Decimal("2912.70"),
        "cost_usd_month": Decimal("6000.00"),
        "is_replayed": True,
    }
    return [row | run for row in (together, down, tools, reason)]


def followed(start: datetime) -> list[Row]:
    """Make one piece of advice that was followed an hour after `start`."""
    return [
        {
            "advice_id": "d0d0",
            "kind": "scale_down",
            "target": "qwen-coder",
            "followed_at": start + timedelta(hours=1),
            "predicted_usd_month": Decimal("2912.70"),
            "saved_usd_month": Decimal("2500.00"),
            "saved_per_task_usd_month": Decimal("2700.00"),
            "tasks_per_day_before": 100.0,
            "tasks_per_day_after": 104.0,
        }
    ]
