"""Advice as rows of the warehouse: savings a month, evidence, and ids that stay from run to run."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from planner.advice.combine import Combined
from planner.advice.found import Advice, Found
from planner.advice.load import Load
from taximeter.units import count, usd
from warehouse.rows import RECOMMENDATIONS

_ID_DIGITS = 12


def advice_id(kind: str, target: str) -> str:
    """Name advice so that the same one about the same thing is found again in a later run."""
    return hashlib.sha256(f"{kind}/{target}".encode()).hexdigest()[:_ID_DIGITS]


def run_id(load: Load, made_ns: int) -> str:
    """Name a run by its window and its instant."""
    text = f"{load.window.from_ns}/{load.window.until_ns}/{made_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]


def to_table(load: Load, found: Iterable[Found], combined: Combined | None, made_ns: int) -> pa.Table:
    """Write a run: the combined saving, advice by saving, then the reasons for none."""
    run = {"run_id": run_id(load, made_ns), "made_ns": made_ns}
    head = [_combined(load, combined)] if combined and combined.taken else []
    advice = [one for one in found if isinstance(one, Advice)]
    advice.sort(key=lambda one: (-one.saving.sure, -one.saving.most, one.kind, one.target))
    rest = [_refused(one) for one in found if not isinstance(one, Advice)]
    rows = [*head, *(_advised(load, one) for one in advice), *rest]
    window = {"from_ns": load.window.from_ns, "until_ns": load.window.until_ns, "simulated": load.simulated}
    return pa.Table.from_pylist([{**window, **row, **run} for row in rows], RECOMMENDATIONS)


def followed_row(row: dict[str, Any], followed_ns: int) -> pa.Table:
    """Write that an advice (a row of the report `recommendations`) was followed."""
    same = {name: row[name] for name in ("advice_id", "kind", "target", "deployment", "agent", "simulated")}
    told = {**same, "verdict": "followed", "made_ns": followed_ns, "run_id": row["run_id"]}
    return pa.Table.from_pylist([told], RECOMMENDATIONS)


def _advised(load: Load, one: Advice) -> dict[str, Any]:
    month, saving, waits = load.window.month, one.saving, one.waits
    return {
        "advice_id": advice_id(one.kind, one.target),
        "verdict": "advice",
        "kind": one.kind,
        "target": one.target,
        "deployment": one.deployment,
        "agent": one.agent,
        "sentence": one.sentence,
        "change": one.change,
        "manifest": one.manifest,
        "cost_usd_month": month(one.cost_usd),
        "saving_usd_month": month(saving.usd),
        "saving_low_usd_month": month(saving.low),
        "saving_high_usd_month": month(saving.high),
        "is_replayed": saving.is_replayed,
        "assumption": saving.assumption,
        "signal": one.signal,
        "added_wait_s_p50": waits.p50 if waits else None,
        "added_wait_s_p95": waits.p95 if waits else None,
        "added_wait_s_p99": waits.p99 if waits else None,
        "slo_ratio": one.slo_ratio,
        "confidence": one.confidence,
        "coverage_ratio": one.coverage_ratio,
        "calibration_error_ratio": one.calibration_error_ratio,
        "evidence_report": one.evidence.report,
        "evidence_params": json.dumps(one.evidence.params, sort_keys=True),
        "evidence_rows": one.evidence.rows,
        "price_source": one.price_source,
        "provenance": "simulated" if saving.is_replayed else "assumed",
    }


def _refused(one: Any) -> dict[str, Any]:
    return {
        "advice_id": advice_id(one.kind, one.target),
        "verdict": "none",
        "kind": one.kind,
        "target": one.target,
        "deployment": one.deployment,
        "agent": one.agent,
        "sentence": f"No advice: {one.reason}.",
        "coverage_ratio": one.coverage_ratio,
    }


def _combined(load: Load, combined: Combined) -> dict[str, Any]:
    month, taken = load.window.month, len(combined.taken)
    saving, cost = month(combined.saving_usd), month(combined.cost_usd)
    return {
        "advice_id": advice_id("combined", ""),
        "verdict": "combined",
        "target": "; ".join(f"{one.kind} {one.target}" for one in combined.taken),
        "sentence": (
            f"Together {count(taken)} piece{'' if taken == 1 else 's'} of replayed advice save {usd(saving)}"
            f" of {usd(cost)} a month, replayed at once. Ranges are not in it; of several plans for one"
            " deployment the best is."
        ),
        "cost_usd_month": cost,
        "saving_usd_month": saving,
        "is_replayed": True,
        "provenance": "simulated",
    }
