"""Spot for steps with slack: replicas off the critical path, on cards that may be taken back."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from planner.advice.fleets import Judged, best, judged, none_found, tell
from planner.advice.found import Found, Plan, Refusal
from planner.advice.load import Load
from planner.advice.rules import rule
from planner.advice.schedule import peak
from planner.backtest import Case
from planner.policy import Habits, Observation
from taximeter.units import share, usd
from warehouse.prices.rows import GpuPrice

KIND = "spot"


class TwoPools(Habits):
    """So many replicas on demand and so many on spot, always; what is taken back is asked for again."""

    name = "on_demand_and_spot"
    interval_s = 15.0

    def __init__(self, on_demand: int, spot: int) -> None:
        """Hold both numbers."""
        self.start = on_demand
        self._wanted = (on_demand, spot)

    def decide(self, seen: Observation) -> tuple[int, ...]:
        """Answer the same as ever."""
        del seen
        return self._wanted


def find(load: Load) -> Iterator[Found]:
    """Advise where calls have slack, a spot price is known and so is how often spot is taken back."""
    for one in judged(load, KIND):
        if isinstance(one, Refusal):
            yield one
            continue
        price = _price(one, load)
        reason = _reason_against(one, price, load)
        if reason or price is None:
            coverage = one.deployment.coverage_ratio
            yield Refusal(KIND, one.name, reason or "no spot price", one.name, coverage_ratio=coverage)
            continue
        yield _of(one, price, load)


def _price(one: Judged, load: Load) -> GpuPrice | None:
    """Find the spot price of the deployment's cards: the user's own first, then the newest."""
    sku = one.deployment.row.get("sku")
    rows = [row for row in load.other_prices if row.sku == sku and row.kind == "spot"]
    return max(rows, key=lambda row: (row.is_user_row, row.from_ns), default=None)


def slack_ratio(case: Case) -> float:
    """Tell the share of served calls that may end later than the SLO allows without moving their task."""
    load = case.workload
    slack = [one for one, served in zip(load.slack_s, load.served, strict=True) if served]
    return sum(one > case.slo.added_wait_s for one in slack) / len(slack)


def _reason_against(one: Judged, price: GpuPrice | None, load: Load) -> str | None:
    ratio = slack_ratio(one.case)
    if ratio < rule("spot", "least_slack_ratio"):
        return f"{share(ratio)} of its calls are off the critical path by more than the accepted wait"
    if price is None:
        return f"no spot price of {one.deployment.row.get('sku') or 'its cards'} is in the price book"
    if load.terms.preempted_per_hour is None:
        return "nobody says how often spot cards are taken back: --preempted-per-hour"
    return None


def critical(case: Case) -> Case:
    """Keep only the calls that the accepted wait would make their task late."""
    load = case.workload
    slack = zip(load.slack_s, load.served, strict=True)
    served = [is_served and one <= case.slo.added_wait_s for one, is_served in slack]
    return case._replace(workload=replace(load, served=served))


def _of(one: Judged, price: GpuPrice, load: Load) -> Found:
    on_demand = max(peak(critical(one.case)), 1)
    spot = max(peak(one.case) - on_demand, 0)
    if not spot:
        reason = "the critical path needs all replicas at once"
        return Refusal(KIND, one.name, reason, one.name, coverage_ratio=one.deployment.coverage_ratio)
    own = one.case.fleet.pools[0]
    cheap = own._replace(
        name="spot",
        usd_per_replica_hour=Decimal(price.usd_per_gpu_hour) * own.gpus_per_replica,
        preempted_per_hour=load.terms.preempted_per_hour or 0.0,
    )
    fleet = one.case.fleet._replace(pools=(own, cheap))
    chosen = best(one, [Plan(one.name, lambda _: TwoPools(on_demand, spot), fleet)])
    if chosen is None:
        return none_found(KIND, one)
    told = tell(
        KIND,
        one,
        chosen,
        load,
        what=f"with {on_demand} replicas on demand and {spot} on spot at {usd(price.usd_per_gpu_hour)} per"
        " GPU-hour",
        change=f"Move {spot} replicas to spot cards; they serve what the first {on_demand} have no place"
        " for.",
        manifest=None,
    )
    taken = f"spot is taken back {load.terms.preempted_per_hour:g} times an hour, as given"
    return told._replace(
        saving=told.saving._replace(assumption=taken),
        signal=f"{share(slack_ratio(one.case))} of calls have slack (slack_s) beyond the accepted wait",
        price_source=f"{told.price_source or ''}; {price.source}".removeprefix("; "),
    )
