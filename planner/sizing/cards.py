"""Bursts in cards: calls in flight at once, and the replicas and cards that hold them."""

from math import ceil, isnan
from typing import NamedTuple

from planner.advice.kinds.scale_down import of_policy
from planner.backtest import Case
from planner.fleet import ColdStart, Delay
from planner.outcome import Outcome
from planner.policy_file import NamedBlocks
from planner.sizing.turns import levels

# Cold starts that are tried: from none, over a wake from sleep, to a load from a registry.
_LONGEST_S = 3_600.0
_STEPS = 12


class Burst(NamedTuple):
    """What a deployment's calls took at once, and the cards for it."""

    deployment: str
    concurrency: int
    gpus_per_replica: int
    in_flight_mean: float
    in_flight_p99: int
    in_flight_peak: int
    cards_mean: float
    cards_p99: int
    cards_peak: int
    replicas_held: int | None


class BreakEven(NamedTuple):
    """How short a cold start must be for releasing idle capacity to pay; None where none is short enough.

    `cost_s` is the longest that costs no more than what ran, `slo_s` the longest that keeps the SLO too;
    `is_open` tells that the longest tried still does. `own_s` is the fleet's own cold start.
    """

    cost_s: float | None
    slo_s: float | None
    own_s: float
    is_cost_open: bool = False
    is_slo_open: bool = False

    @property
    def pays(self) -> bool:
        """Whether the fleet's own cold start is short enough for both."""
        return self.slo_s is not None and self.own_s <= self.slo_s


def measure_burst(case: Case) -> Burst:
    """Measure a deployment's calls in flight; queueing is not in flight."""
    load, pool = case.workload, case.fleet.pools[0]
    spans = []
    for start, wait, took, served in zip(
        load.start_s, load.wait_s, load.recorded_s, load.served, strict=True
    ):
        if served:
            begin = start + (0.0 if isnan(wait) else wait)
            spans.append((begin, begin + took))
    most, usual = levels(spans)
    mean = sum(end - begin for begin, end in spans) / load.horizon_s if load.horizon_s else 0.0
    each = pool.gpus_per_replica
    return Burst(
        deployment=load.deployment,
        concurrency=pool.concurrency,
        gpus_per_replica=each,
        in_flight_mean=mean,
        in_flight_p99=usual,
        in_flight_peak=most,
        cards_mean=mean / pool.concurrency * each,
        cards_p99=ceil(usual / pool.concurrency) * each,
        cards_peak=ceil(most / pool.concurrency) * each,
        replicas_held=case.facts.replicas,
    )


def break_even(case: Case) -> BreakEven:
    """Search the longest cold starts under which letting replicas go a minute after use still pays.

    Each is a whole replay: who waits for a start is late after it. Cost grows and the SLO share falls with
    the cold start, so both are searched by halving, to a second or a thousandth of the longest tried.
    """
    own_s = case.facts.cold_start_s
    ran = case.recorded.cost_usd

    def is_cheap(outcome: Outcome) -> bool:
        return ran is not None and outcome.cost_usd is not None and outcome.cost_usd <= ran

    def keeps(outcome: Outcome) -> bool:
        return (
            is_cheap(outcome) and outcome.unfinished_steps == 0 and (outcome.slo_ratio or 0) >= case.slo.share
        )

    seen: dict[float, Outcome] = {}
    cost_s = _longest(case, is_cheap, seen)
    slo_s = _longest(case, keeps, seen)
    return BreakEven(cost_s, slo_s, own_s, cost_s == _LONGEST_S, slo_s == _LONGEST_S)


def _longest(case: Case, is_good: object, seen: dict[float, Outcome]) -> float | None:
    if not callable(is_good) or not is_good(_with_start(case, 0.0, seen)):
        return None
    if is_good(_with_start(case, _LONGEST_S, seen)):
        return _LONGEST_S
    low, high = 0.0, _LONGEST_S
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if is_good(_with_start(case, middle, seen)):
            low = middle
        else:
            high = middle
    return low


def _with_start(case: Case, seconds: float, seen: dict[float, Outcome]) -> Outcome:
    """Replay with a constant cold start; the policy is the one that adds a replica while calls wait."""
    if seconds not in seen:
        start = ColdStart(Delay(seconds, seconds), is_billed=case.fleet.pools[0].cold_start.is_billed)
        pools = tuple(pool._replace(cold_start=start) for pool in case.fleet.pools)
        changed = case._replace(
            fleet=case.fleet._replace(pools=pools), facts=case.facts._replace(cold_start_s=seconds)
        )
        block = {"queue_length": {"tick_s": 5.0, "down_after_s": 60.0}}
        seen[seconds] = of_policy(
            case.workload.deployment, NamedBlocks.model_validate(block), changed
        ).replay(changed)
    return seen[seconds]
