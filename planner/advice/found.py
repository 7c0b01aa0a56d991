"""What a kind of advice finds: advice with its saving, evidence and remedy, or the reason for none."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from planner.advice.calls import Recall
from planner.advice.rules import rule
from planner.backtest import Case
from planner.fleet import Fleet
from planner.outcome import Outcome, Waits, measure
from planner.policy import Policy
from planner.simulate import simulate


class Saving(NamedTuple):
    """Money of the window: replayed (`usd`), or a range from `low` to `high` under its assumption."""

    usd: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    assumption: str | None = None

    @property
    def is_replayed(self) -> bool:
        """Whether the recording itself says it; only such savings are ever summed."""
        return self.usd is not None

    @property
    def sure(self) -> Decimal:
        """The least that is saved."""
        return self.usd if self.usd is not None else (self.low or Decimal(0))

    @property
    def most(self) -> Decimal:
        """The most that may be saved."""
        return self.usd if self.usd is not None else (self.high or Decimal(0))


class Evidence(NamedTuple):
    """The report and the filter that open the rows behind an advice, and how many there are."""

    report: str
    params: dict[str, Any]
    rows: int


class Plan(NamedTuple):
    """Another way to run a deployment: a policy and the fleet it scales, to be replayed."""

    deployment: str
    make: Callable[[Case], Policy]
    fleet: Fleet

    def replay(self, case: Case) -> Outcome:
        """Replay it on a case's load."""
        policy = self.make(case)
        run = simulate(case.workload, policy, self.fleet)
        return measure(case.workload, run, self.fleet, policy.name, case.slo)


class Remedy(NamedTuple):
    """What following an advice does to the recording; nothing where it cannot be replayed."""

    recall: Recall | None = None
    plan: Plan | None = None
    gpu_id: str | None = None
    joined: tuple[str, ...] = ()  # deployments that share their cards


class Advice(NamedTuple):
    """One piece of advice. Money is of the window; `target` and `kind` together name it in every run."""

    kind: str
    target: str
    sentence: str
    change: str
    cost_usd: Decimal
    saving: Saving
    evidence: Evidence
    signal: str
    remedy: Remedy = Remedy()
    deployment: str | None = None
    agent: str | None = None
    manifest: str | None = None
    waits: Waits | None = None
    slo_ratio: float | None = None
    coverage_ratio: float | None = None
    calibration_error_ratio: float | None = None
    confidence: str = "medium"
    price_source: str | None = None


class Refusal(NamedTuple):
    """Why a kind of advice is not given."""

    kind: str
    target: str
    reason: str
    deployment: str | None = None
    agent: str | None = None
    coverage_ratio: float | None = None


Found = Advice | Refusal


class Finder(Protocol):
    """A kind of advice: finds all of it in a load. `Load` is planner.advice.load.Load."""

    def __call__(self, load: Any, /) -> Iterable[Found]:
        """Find."""
        ...


def confidence(
    *,
    is_replayed: bool,
    window_s: float,
    coverage_ratio: float | None,
    calibration_error_ratio: float | None = 0.0,
    is_measured: bool = True,
) -> str:
    """Judge how much an advice is to be trusted: high, medium or low.

    High needs a replay over a week, nearly whole coverage, a calibration within 5 % and measured figures;
    what is not replayed, or replayed more than 25 % off, is low.
    """
    off = calibration_error_ratio
    if not is_replayed or off is None or off > rule("confidence", "lost_ratio"):
        return "low"
    firm = (
        is_measured
        and window_s >= rule("confidence", "window_s")
        and (coverage_ratio or 0.0) >= rule("confidence", "coverage_ratio")
        and off <= rule("confidence", "calibration_ratio")
    )
    return "high" if firm else "medium"
