"""Scale down: fewer replicas always, by the hour of the week, or by an autoscaler that keeps one."""

from collections.abc import Iterator
from typing import Any

from planner.advice import manifests
from planner.advice.fleets import Judged, best, judged, keeps, none_found, tell
from planner.advice.found import Found, Plan, Refusal
from planner.advice.load import Load
from planner.advice.rules import rule
from planner.advice.schedule import HourOfWeek, needed_by_hour, peak
from planner.backtest import Case
from planner.catalogue import make_policy
from planner.policies.fixed import FixedCount
from planner.policy import Policy
from planner.policy_file import NamedBlocks
from taximeter.units import count

KIND = "scale_down"
_POLICIES: tuple[dict[str, Any], ...] = ({"hpa": {}}, {"ray_serve": {}})
_MARGIN_S = 60.0


def find(load: Load) -> Iterator[Found]:
    """Advise for each deployment the cheapest way that keeps one replica, or what each hour needs."""
    for one in judged(load, KIND):
        if isinstance(one, Refusal):
            yield one
            continue
        yield _of(one, load)


def _of(one: Judged, load: Load) -> Found:
    case, name = one.case, one.name
    told: dict[str, tuple[str, str, str | None]] = {}
    plans, trust = [], ""
    if (replicas := _fewest(one)) is not None:
        plans.append(_fixed(name, replicas, case))
        what = f"with {count(replicas)} replica{'' if replicas == 1 else 's'}"
        told[f"fixed-{replicas}"] = (what, f"Hold {replicas}.", manifests.fixed(name, replicas))
    if load.window.seconds >= rule("schedule", "window_s"):
        fitted_s, trust = _fitted(case)
        needs, lead_s = needed_by_hour(case, load.zone, fitted_s), case.facts.cold_start_s + _MARGIN_S
        plans.append(_by_hour(name, needs, load.zone, lead_s, case))
        few, many = min(needs.values()), max(needs.values())
        told["hour_of_week"] = (
            "with what each hour of the week needed",
            f"Hold {few} to {many} replicas by the hour of the week ({load.zone}).",
            manifests.keda_cron(name, needs, zone=load.zone, lead_s=lead_s),
        )
    for block in _POLICIES:
        policy = NamedBlocks.model_validate(block)
        plans.append(of_policy(name, policy, case))
        kind, _ = policy.block()
        told[kind] = (
            f"under {kind} with its defaults",
            "Apply the manifest.",
            manifests.of_policy(name, policy, case.facts),
        )
    chosen = best(one, plans)
    if chosen is None:
        return none_found(KIND, one)
    what, change, manifest = told[chosen.outcome.policy]
    advice = tell(KIND, one, chosen, load, what=what, change=change, manifest=manifest)
    if chosen.outcome.policy == HourOfWeek.name:
        assumption = "; ".join(text for text in (trust, advice.saving.assumption) if text)
        advice = advice._replace(saving=advice.saving._replace(assumption=assumption))
    return advice


def _fitted(case: Case) -> tuple[float, str]:
    """Tell how much of the recording a schedule is read off: half of it where both halves hold a week."""
    horizon_s = case.workload.horizon_s
    if horizon_s >= 2 * rule("schedule", "window_s"):
        return (
            horizon_s / 2,
            "the hours were read off the first half of the recording and replayed on all of it",
        )
    return horizon_s, "later weeks need in each hour what the recorded ones did"


def _fewest(one: Judged) -> int | None:
    """Search the smallest fixed number below what ran that keeps the SLO; waits fall with every replica."""
    case = one.case
    most = (case.facts.replicas or 1) - 1
    low, high = 1, min(max(peak(case), 1), most)
    if high < 1 or not keeps(_fixed(one.name, high, case).replay(case), case):
        return None
    while low < high:
        middle = (low + high) // 2
        if keeps(_fixed(one.name, middle, case).replay(case), case):
            high = middle
        else:
            low = middle + 1
    return high


def _fixed(name: str, replicas: int, case: Case) -> Plan:
    return Plan(name, lambda _: FixedCount(replicas), case.fleet)


def _by_hour(name: str, needs: dict[int, int], zone: str, lead_s: float, case: Case) -> Plan:
    def make(now: Case) -> Policy:
        return HourOfWeek(needs, start_ns=now.workload.start_ns, zone=zone, lead_s=lead_s)

    return Plan(name, make, case.fleet)


def of_policy(name: str, policy: NamedBlocks, case: Case) -> Plan:
    """Plan to run a deployment under a policy of the catalogue."""
    return Plan(name, lambda now: make_policy(policy, now.facts), case.fleet)
