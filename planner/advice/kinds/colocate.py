"""Co-locate services: two deployments that are seldom busy at once, on the cards of one."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from planner.advice.fleets import Judged, judged, keeps
from planner.advice.found import Advice, Evidence, Found, Plan, Refusal, Remedy, Saving, confidence
from planner.advice.load import Load
from planner.advice.merge import busy_overlap, merge
from planner.advice.rules import rule
from planner.backtest import Case
from planner.policies.fixed import FixedCount
from taximeter.units import share, usd

KIND = "colocate"


def find(load: Load) -> Iterator[Found]:
    """Advise for each pair of equal cards whose models fit together and which are seldom busy at once."""
    fit: list[Judged] = []
    for one in judged(load, KIND):
        if isinstance(one, Refusal):
            yield one
        else:
            fit.append(one)
    if len(fit) == 1:
        yield Refusal(KIND, fit[0].name, "there is no other deployment to share with", fit[0].name)
    for first, second in combinations(fit, 2):
        reason = _reason_against(first, second, load)
        name = f"{first.name} and {second.name}"
        yield Refusal(KIND, name, reason, first.name) if reason else _of(first, second, load)


def _reason_against(first: Judged, second: Judged, load: Load) -> str | None:
    rows = (first.deployment.row, second.deployment.row)
    kinds = {(row["sku"], row["gpus_per_replica"], row["usd_per_gpu_hour"]) for row in rows}
    if rows[0]["sku"] is None or len(kinds) > 1:
        return "they run on different cards, or at different prices"
    one, two = (_memory(name, load) for name in (first.name, second.name))
    if one is None or two is None:
        return "the memory that their cards had in use is not recorded"
    (used, total), (also_used, also_total) = one, two
    room = rule("colocate", "memory_ratio") * min(total, also_total)
    if used + also_used > room:
        return (
            f"they do not fit: {used:,.0f} and {also_used:,.0f} MiB were in use of"
            f" {min(total, also_total):,.0f};"
            " an engine that takes all memory at its start must be told to take less first"
        )
    overlap = busy_overlap(first.case.workload, second.case.workload)
    if overlap > rule("colocate", "overlap_ratio"):
        return f"both are busy at once for {share(overlap)} of the time in which either is"
    return None


def _memory(name: str, load: Load) -> tuple[float, float] | None:
    """Give the most memory in use on any card of a deployment and the smallest card's, MiB."""
    rows: list[dict[str, Any]] = [row for row in load.gpus if row["deployment"] == name]
    if not rows or any(row["memory_used_mib"] is None or row["memory_total_mib"] is None for row in rows):
        return None
    return max(row["memory_used_mib"] for row in rows), min(row["memory_total_mib"] for row in rows)


def _of(first: Judged, second: Judged, load: Load) -> Found:
    name = f"{first.name} and {second.name}"
    case, replicas = joined_case(first.case, second.case)
    plan = Plan(name, lambda _: FixedCount(replicas), case.fleet)
    outcome = plan.replay(case)
    before = first.cost_usd + second.cost_usd
    saved = None if outcome.cost_usd is None else before - outcome.cost_usd
    if saved is None or saved <= first.margin_usd + second.margin_usd or not keeps(outcome, case):
        return Refusal(
            KIND, name, f"{replicas} shared replicas cost no less, or let calls wait too long", first.name
        )
    errors = [one.deployment.calibration for one in (first, second)]
    off = max((one.error_ratio or 0.0) for one in errors if one)
    coverage = min(one.deployment.coverage_ratio or 0.0 for one in (first, second))
    return Advice(
        kind=KIND,
        target=name,
        sentence=f"Serve {name} from {replicas} shared replicas: they are seldom busy at once, and their"
        " models fit on"
        f" one card. {usd(outcome.cost_usd)} instead of {usd(before)} over the recording.",
        change=f"Start both engines on the same cards, each with its share of the memory, on {replicas}"
        " replicas.",
        cost_usd=before,
        saving=Saving(usd=saved, assumption="while one serves the other is idle, as recorded"),
        evidence=Evidence(
            "gpu_ledger", load.window.params(group_by="deployment"), case.workload.served_steps
        ),
        signal="memory in use on their cards, and the time in which both were busy",
        remedy=Remedy(plan=plan, joined=(first.name, second.name)),
        waits=outcome.added_wait,
        slo_ratio=outcome.slo_ratio,
        coverage_ratio=coverage,
        calibration_error_ratio=off,
        confidence=confidence(
            is_replayed=True,
            window_s=load.recorded_s,
            coverage_ratio=coverage,
            calibration_error_ratio=off,
            is_measured=False,
        ),
        price_source=first.deployment.row.get("price_source"),
    )


def joined_case(first: Case, second: Case) -> tuple[Case, int]:
    """Put two loads on one fleet of as many replicas as the larger, each with the smaller's places."""
    pools = (first.fleet.pools[0], second.fleet.pools[0])
    pool = pools[0]._replace(concurrency=min(one.concurrency for one in pools))
    replicas = max(first.facts.replicas or 1, second.facts.replicas or 1)
    joined = first._replace(
        workload=merge(first.workload, second.workload), fleet=first.fleet._replace(pools=(pool,))
    )
    return joined, replicas
