"""What a policy scales: pools of replicas, how they start, and how they are billed."""

from decimal import Decimal
from math import ceil, exp, log
from random import Random
from typing import NamedTuple

_P95_Z = 1.6448536269514722  # of the standard normal distribution
_NS_PER_S = 1_000_000_000
_S_PER_HOUR = 3_600


class Delay(NamedTuple):
    """A duration that varies: log-normal by its median and 95th percentile; equal ones are a constant."""

    p50_s: float
    p95_s: float

    def draw(self, random: Random) -> float:
        """Draw one, from exactly one normal variate."""
        variate = random.gauss(0.0, 1.0)
        if self.p95_s <= self.p50_s or self.p50_s <= 0:
            return self.p50_s
        return self.p50_s * exp(variate * log(self.p95_s / self.p50_s) / _P95_Z)


class ColdStart(NamedTuple):
    """How long a replica takes from being asked for to serving.

    A replica that was let go less than `hot_for_s` ago is woken in `hot`; all others load in `full`. A
    replica held asleep costs nothing here: it keeps memory of the host, not the card.
    """

    full: Delay = Delay(85.0, 85.0)
    hot: Delay | None = None
    hot_for_s: float = 0.0
    is_billed: bool = True

    @property
    def usual_s(self) -> float:
        """The median of a full load."""
        return self.full.p50_s


class Billing(NamedTuple):
    """How a provider counts the time of a replica: in whole grains, and a minimum each time."""

    grain_s: float = 1.0
    minimum_s: float = 0.0

    def billed_ns(self, held_s: float) -> int:
        """Tell the billed nanoseconds of one stretch of holding a replica."""
        if held_s <= 0:
            return 0
        grain_ns = max(round(self.grain_s * _NS_PER_S), 1)
        # A whole grain that floating point missed by less than a microsecond is that whole grain.
        grains = ceil((round(max(held_s, self.minimum_s) * _NS_PER_S) - 1_000) / grain_ns)
        return max(grains, 1) * grain_ns


class Pool(NamedTuple):
    """Replicas of one kind of card; `speed` 2 serves a step in half the recorded time."""

    name: str = "own"
    concurrency: int = 1
    usd_per_replica_hour: Decimal | None = None
    gpus_per_replica: int = 1
    most: int = 1_000
    speed: float = 1.0
    cold_start: ColdStart = ColdStart()
    billing: Billing = Billing()
    preempted_per_hour: float = 0.0

    def cost_usd(self, billed_ns: int) -> Decimal | None:
        """Price billed time of replicas, to 1e-12 USD rounded down; None where no price is known."""
        if self.usd_per_replica_hour is None:
            return None
        exact = self.usd_per_replica_hour * billed_ns / (_NS_PER_S * _S_PER_HOUR)
        return exact.quantize(Decimal("1e-12"), "ROUND_DOWN")


class Fleet(NamedTuple):
    """All pools, filled in this order; figures reach the policy `scrape_lag_s` late."""

    pools: tuple[Pool, ...] = (Pool(),)
    scrape_lag_s: float = 0.0
    seed: int = 1
