"""Release a forgotten GPU: a card that is paid and did nothing in all of the time."""

from collections.abc import Iterator
from typing import Any

from planner.advice.found import Advice, Evidence, Found, Refusal, Remedy, Saving, confidence
from planner.advice.load import Load
from planner.advice.rules import rule
from taximeter.units import duration, share, usd

KIND = "release_gpu"


def find(load: Load) -> Iterator[Found]:
    """Advise for each card that is still held and was never used: not by a step, not by anybody unknown.

    A card that is `unattributed` busy is used by somebody; one of unknown state may be. Where another card
    of its deployment was used, it is not forgotten but spare: that is for scale_down.
    """
    used = {row["deployment"] for row in load.gpus if row["used_s"] > 0 and row["deployment"]}
    for row in load.gpus:
        if row["used_s"] > 0 or not row["still_held"] or row["deployment"] in used:
            continue
        reason = _reason_against(row, load)
        if reason:
            yield Refusal(KIND, row["gpu_id"], reason, row["deployment"], coverage_ratio=_known(row))
        else:
            yield _advise(row, load)


def _known(row: dict[str, Any]) -> float:
    return 1.0 - row["unknown_s"] / row["held_s"] if row["held_s"] else 0.0


def _reason_against(row: dict[str, Any], load: Load) -> str | None:
    least = rule("least", "coverage_ratio")
    if row["held_s"] < least * load.window.seconds:
        return f"it was held for {duration(row['held_s'])} of {duration(load.window.seconds)} only"
    if _known(row) < least:
        return f"its state is known for {share(_known(row))} of the time; advice needs {share(least)}"
    return "it has no price" if row["cost_usd"] is None else None


def _advise(row: dict[str, Any], load: Load) -> Advice:
    where = f" of {row['deployment']}" if row["deployment"] else ""
    return Advice(
        kind=KIND,
        target=row["gpu_id"],
        sentence=f"Release the card {row['gpu_id']}{where}"
        f" ({row['sku'] or row['gpu_name'] or 'unknown kind'}): held for"
        f" {duration(row['held_s'])}, used for nothing, {usd(row['cost_usd'])}.",
        change="Stop the instance, or give the card back to the pool, after asking its owner.",
        cost_usd=row["cost_usd"],
        saving=Saving(usd=row["cost_usd"]),
        evidence=Evidence("gpu_ledger", load.window.params(gpu_id=row["gpu_id"]), 1),
        signal=f"idle for {duration(row['idle_s'])}: no step, no busy sample, no start",
        remedy=Remedy(gpu_id=row["gpu_id"]),
        deployment=row["deployment"],
        coverage_ratio=_known(row),
        confidence=confidence(is_replayed=True, window_s=load.recorded_s, coverage_ratio=_known(row)),
        price_source=row["price_source"],
    )
