"""Advice about deployments: which can be judged, which plan is best, and how it is told."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from planner.advice.found import Advice, Evidence, Plan, Refusal, Remedy, Saving, confidence
from planner.advice.load import Deployment, Load
from planner.advice.rules import rule
from planner.backtest import Case
from planner.outcome import Outcome
from planner.tables import instant_ns
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.units import share, usd

_RELEASED_S = 900


class Judged(NamedTuple):
    """A deployment that can be judged: its case, and what it cost."""

    deployment: Deployment
    case: Case
    cost_usd: Decimal

    @property
    def name(self) -> str:
        """What it is called."""
        return self.deployment.name

    @property
    def margin_usd(self) -> Decimal:
        """What a replay of the recorded replicas is off in money: a smaller saving is none."""
        found = self.deployment.calibration
        off = (found.gpu_hours_error_ratio if found else None) or 0.0
        return self.cost_usd * Decimal(str(off))


class Best(NamedTuple):
    """The plan that saves most and keeps the SLO."""

    plan: Plan
    outcome: Outcome
    saved_usd: Decimal


def judged(load: Load, kind: str) -> Iterator[Judged | Refusal]:
    """Give the deployments of which enough is known, and the reasons against the others."""
    if not load.deployments:
        yield Refusal(kind, "all deployments", "no deployment with GPUs is recorded in that time")
    for one in load.deployments:
        reason = _reason_against(one, load)
        if reason or one.case is None or one.case.recorded.cost_usd is None:
            told = reason or "its cards have no price; set usd_per_gpu_hour in the settings"
            yield Refusal(kind, one.name, told, deployment=one.name, coverage_ratio=one.coverage_ratio)
        else:
            yield Judged(one, one.case, one.case.recorded.cost_usd)


def _reason_against(one: Deployment, load: Load) -> str | None:
    if one.case is None:
        return one.reason or "it cannot be replayed"
    if one.case.workload.kind != "closed loop":
        return "only arrivals are recorded, so nothing tells what ran"
    return _too_little(one, one.case, load) or _unchecked(one)


def _too_little(one: Deployment, case: Case, load: Load) -> str | None:
    """Say what is missing of the window: known time, time at its end, or time at all."""
    least = rule("least", "coverage_ratio")
    if one.coverage_ratio is None or one.coverage_ratio < least:
        return f"{share(one.coverage_ratio)} of its calls and GPU time is known; advice needs {share(least)}"
    until_ns = instant_ns(one.row["until_at"])
    if until_ns < load.window.until_ns - _RELEASED_S * NS_PER_S:
        when = f"{to_datetime(until_ns):%Y-%m-%d %H:%M}"
        return f"it was let go at {when} UTC; judge it up to then with --until {until_ns}"
    held = case.workload.horizon_s / load.window.seconds
    if held < least:
        return f"it was held for {share(held)} of the time; advice needs {share(least)}"
    return None


def _unchecked(one: Deployment) -> str | None:
    calibration = one.calibration
    if calibration is None or calibration.error_ratio is None:
        return f"a replay cannot be checked against it: {calibration.note if calibration else 'not replayed'}"
    return None


def best(one: Judged, plans: Iterable[Plan]) -> Best | None:
    """Replay plans; give the one that saves most among those that serve all and keep the SLO."""
    found: Best | None = None
    for plan in plans:
        outcome = plan.replay(one.case)
        if not keeps(outcome, one.case) or outcome.cost_usd is None:
            continue
        saved = one.cost_usd - outcome.cost_usd
        if saved > one.margin_usd and (found is None or saved > found.saved_usd):
            found = Best(plan, outcome, saved)
    return found


def keeps(outcome: Outcome, case: Case) -> bool:
    """Tell whether all calls were served, and enough of them in time."""
    served = outcome.unfinished_steps == 0 and outcome.slo_ratio is not None
    return served and (outcome.slo_ratio or 0.0) >= case.slo.share


def none_found(kind: str, one: Judged) -> Refusal:
    """Say that nothing saves."""
    slo = one.case.slo
    reason = (
        f"no replayed way keeps {share(slo.share)} of calls within {slo.added_wait_s:g} s of added wait and"
        " costs"
        f" less than the {usd(one.cost_usd)} that ran"
    )
    return Refusal(kind, one.name, reason, deployment=one.name, coverage_ratio=one.deployment.coverage_ratio)


def tell(
    kind: str, one: Judged, chosen: Best, load: Load, *, what: str, change: str, manifest: str | None
) -> Advice:
    """Make the advice of a plan; `what` says in words how the deployment would run."""
    deployment, outcome = one.deployment, chosen.outcome
    error = deployment.calibration.error_ratio if deployment.calibration else None
    notes = [note for note in deployment.notes if "assumed" in note or "estimated" in note]
    told = zip(("p95", "p99"), outcome.added_wait[1:], strict=True)
    known = [f"{name} {wait:.1f} s" for name, wait in told if wait is not None]
    waits = f", added wait {', '.join(known)}" if known else ""
    return Advice(
        kind=kind,
        target=one.name,
        sentence=f"Run {one.name} {what}: {usd(outcome.cost_usd)} instead of {usd(one.cost_usd)} over the"
        " recording,"
        f" {outcome.cold_starts} cold starts{waits}.",
        change=change,
        cost_usd=one.cost_usd,
        saving=Saving(usd=chosen.saved_usd, assumption="; ".join(notes) or None),
        evidence=Evidence(
            "gpu_ledger",
            load.window.params(deployment=one.name, group_by="deployment"),
            one.case.workload.served_steps,
        ),
        signal="replicas that the recorded calls needed at once",
        remedy=Remedy(plan=chosen.plan),
        deployment=one.name,
        manifest=manifest,
        waits=outcome.added_wait,
        slo_ratio=outcome.slo_ratio,
        coverage_ratio=deployment.coverage_ratio,
        calibration_error_ratio=error,
        confidence=confidence(
            is_replayed=True,
            window_s=load.recorded_s,
            coverage_ratio=deployment.coverage_ratio,
            calibration_error_ratio=error,
            is_measured=not notes,
        ),
        price_source=deployment.row.get("price_source"),
    )
