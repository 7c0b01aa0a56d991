"""The share of steps that a small model can take, and what that would save by the price book."""

from decimal import Decimal
from typing import NamedTuple

from planner.advice.calls import Call, total
from planner.advice.found import Advice
from planner.advice.kinds.route_narrow import find, narrow_steps
from planner.advice.load import Load


class SmallShare(NamedTuple):
    """What is narrow of all model calls that are paid by tokens. Money is of the window."""

    calls: int
    narrow_calls: int
    narrow_ratio: float | None
    cost_usd: Decimal
    narrow_cost_usd: Decimal
    saving_usd: Decimal | None  # None where no smaller model has a price here


class NarrowStep(NamedTuple):
    """One narrow step and what says that it is."""

    title: str
    calls: int
    cost_usd: Decimal
    saving_usd: Decimal | None
    signal: str


def measure_narrow(load: Load) -> tuple[SmallShare, list[NarrowStep]]:
    """List the narrow steps and sum them up."""
    steps, _ = narrow_steps(load)
    savings = {one.target: one.saving.usd for one in find(load) if isinstance(one, Advice)}
    rows = [
        NarrowStep(step.title, len(step.calls), total(step.calls), savings.get(step.title), step.signal)
        for step in steps
    ]
    rows.sort(key=lambda row: (-(row.saving_usd or Decimal(0)), -row.calls, row.title))
    all_calls: list[Call] = [call for call in load.calls if call.paid_by == "tokens"]
    known = [row.saving_usd for row in rows if row.saving_usd is not None]
    count = sum(row.calls for row in rows)
    share = SmallShare(
        calls=len(all_calls),
        narrow_calls=count,
        narrow_ratio=count / len(all_calls) if all_calls else None,
        cost_usd=total(all_calls),
        narrow_cost_usd=sum((row.cost_usd for row in rows), Decimal(0)),
        saving_usd=sum(known, Decimal(0)) if known else None,
    )
    return share, rows
