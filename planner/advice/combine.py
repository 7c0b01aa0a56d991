"""All replayed advice at once: what it saves together, replayed anew and never above the cost."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from planner.advice.calls import total
from planner.advice.found import Advice
from planner.advice.kinds.colocate import joined_case
from planner.advice.load import Load

# What changes calls, in the order in which it is applied: first what leaves calls out.
_ORDER = ("cap_loops", "tool_schemas", "route_narrow", "prompt_cache")


class Combined(NamedTuple):
    """Money of the window: what it all cost, what all replayed advice saves together, and which was taken."""

    cost_usd: Decimal
    saving_usd: Decimal
    taken: tuple[Advice, ...]


def combine(load: Load, found: Sequence[Advice]) -> Combined:
    """Apply all replayed advice: calls are changed one kind after the other and costed once at the end.

    Of several plans for one deployment the one that saves most is taken. Ranges are in no sum.
    """
    replayed = [advice for advice in found if advice.saving.is_replayed]
    calls = list(load.calls)
    changing = [advice for advice in replayed if advice.remedy.recall]
    changing.sort(key=lambda advice: (_ORDER.index(advice.kind), advice.target))
    for advice in changing:
        if advice.remedy.recall:
            calls = advice.remedy.recall(calls)
    tokens = load.token_cost_usd - total(calls)
    plans = _plans(replayed)
    fleets = sum((_replayed(load, plan) for plan in plans), Decimal(0))
    planned = {name for plan in plans for name in _names(plan)}
    cards = [a for a in replayed if a.remedy.gpu_id and a.deployment not in planned]
    released = sum((advice.saving.sure for advice in cards), Decimal(0))
    known = (row["cost_usd"] for row in load.gpus if row["cost_usd"] is not None)
    cost = load.token_cost_usd + sum(known, Decimal(0))
    return Combined(cost, min(tokens + fleets + released, cost), (*changing, *plans, *cards))


def _plans(replayed: Sequence[Advice]) -> list[Advice]:
    """Choose one plan for each deployment; a shared one where it saves more than both alone."""
    alone: dict[str, Advice] = {}
    for advice in replayed:
        if advice.remedy.plan and not advice.remedy.joined:
            name = advice.remedy.plan.deployment
            if name not in alone or advice.saving.sure > alone[name].saving.sure:
                alone[name] = advice
    shared = [advice for advice in replayed if advice.remedy.joined]
    for advice in sorted(shared, key=lambda one: (-one.saving.sure, one.target)):
        apart = [alone[name] for name in advice.remedy.joined if name in alone]
        if any(one.remedy.joined for one in apart):
            continue  # one of them shares with another already
        if advice.saving.sure > sum((one.saving.sure for one in apart), Decimal(0)):
            alone.update(dict.fromkeys(advice.remedy.joined, advice))
    return list({id(advice): advice for _, advice in sorted(alone.items())}.values())


def _names(advice: Advice) -> tuple[str, ...]:
    if advice.remedy.joined:
        return advice.remedy.joined
    return (advice.remedy.plan.deployment,) if advice.remedy.plan else ()


def _replayed(load: Load, advice: Advice) -> Decimal:
    """Replay a plan again on what it is about, and price it against what ran."""
    cases = [one.case for one in load.deployments if one.name in _names(advice) and one.case]
    case = cases[0] if len(cases) == 1 else joined_case(cases[0], cases[1])[0]
    plan = advice.remedy.plan
    outcome = plan.replay(case) if plan else None
    if outcome is None or outcome.cost_usd is None:
        return Decimal(0)
    ran = sum((one.recorded.cost_usd for one in cases if one.recorded.cost_usd is not None), Decimal(0))
    return max(ran - outcome.cost_usd, Decimal(0))
