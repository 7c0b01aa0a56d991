"""Everything that advice reads, once: the settled window, calls, tools, cards, a case per deployment."""

from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from planner import recording
from planner.advice.calls import Call, read_calls
from planner.advice.rules import MONTH_HOURS
from planner.backtest import Calibration, Case, calibrate, coverage
from planner.desk import Wanted, read_case
from planner.outcome import Slo
from planner.policy_file import ColdStartBlock, FleetBlock
from planner.scale_down import SETTLE_S
from planner.tables import instant_ns
from taximeter.clock import NS_PER_S
from taximeter.errors import NotFoundError, TaximeterError
from taximeter.settings import Settings
from warehouse.parameters import parse_instant
from warehouse.prices.rows import GpuPrice

LOOK_BACK = "7d"
QUARTER_NS = 900 * NS_PER_S
_MEASURED_STARTS = 3


class Terms(NamedTuple):
    """What the user tells that no recording does; None where nobody said."""

    cold_start_s: float | None = None
    concurrency: int | None = None
    preempted_per_hour: float | None = None


class Window(NamedTuple):
    """The settled time that advice rests on: from the first record in what was asked to its end."""

    from_ns: int
    until_ns: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.until_ns - self.from_ns) / NS_PER_S

    def month(self, usd: Decimal | None) -> Decimal | None:
        """Scale money of the window to a month of 730 hours, at 1e-12 USD."""
        if usd is None:
            return None
        scaled = usd * (MONTH_HOURS * 3_600 * NS_PER_S) / (self.until_ns - self.from_ns)
        return scaled.quantize(Decimal("1e-12"))

    def params(self, **more: Any) -> dict[str, Any]:
        """Give the filter of a report that opens rows of the window, from the start of a quarter-hour."""
        return {"since": self.from_ns - self.from_ns % QUARTER_NS, "until": self.until_ns, **more}


class Deployment(NamedTuple):
    """A deployment that can be replayed, or why it cannot."""

    name: str
    row: dict[str, Any]
    case: Case | None = None
    calibration: Calibration | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def coverage_ratio(self) -> float | None:
        """The share of its calls and GPU time that is known."""
        return None if self.case is None else coverage(self.case)


class Load:
    """The recording as advice sees it."""

    def __init__(
        self,
        *,
        window: Window,
        calls: tuple[Call, ...] = (),
        tools: tuple[dict[str, Any], ...] = (),
        gpus: tuple[dict[str, Any], ...] = (),
        deployments: tuple[Deployment, ...] = (),
        slo: Slo = Slo(),  # noqa: B008 - immutable
        zone: str = "UTC",
        terms: Terms = Terms(),  # noqa: B008 - immutable
        other_prices: tuple[GpuPrice, ...] = (),
    ) -> None:
        """Take what was read; tests make one of parts."""
        self.window, self.calls, self.tools, self.gpus = window, calls, tools, gpus
        self.deployments, self.slo, self.zone, self.terms = deployments, slo, zone, terms
        self.other_prices = other_prices

    @cached_property
    def simulated(self) -> bool:
        """Whether any of it says of itself that it is simulated."""
        rows = [*self.tools, *self.gpus]
        return any(call.simulated for call in self.calls) or any(row.get("simulated") for row in rows)

    @cached_property
    def recorded_s(self) -> float:
        """How long the recording goes on in the window: to its last call or the last time a card was held."""
        ends = [call.end_ns for call in self.calls] + [instant_ns(row["until_at"]) for row in self.gpus]
        ends += [instant_ns(one.row["until_at"]) for one in self.deployments if "until_at" in one.row]
        last_ns = min(max(ends, default=self.window.from_ns), self.window.until_ns)
        return (last_ns - self.window.from_ns) / NS_PER_S

    @cached_property
    def token_cost_usd(self) -> Decimal:
        """What the calls cost that are paid by tokens, of what is known."""
        return sum((call.cost_usd for call in self.calls if call.cost_usd is not None), Decimal(0))


def read_load(
    reports: recording.Reports,
    settings: Settings,
    *,
    since: str | None = None,
    until: str | None = None,
    now_ns: int,
    terms: Terms = Terms(),  # noqa: B008 - immutable
    other_prices: tuple[GpuPrice, ...] = (),
) -> Load:
    """Read a load; without `until` it ends where no task is open any more, at the latest 15 minutes ago.

    Raises:
        NotFoundError: nothing is recorded in that time.
        TaximeterError: the warehouse does not answer, or an instant cannot be read.
    """
    until_ns = parse_instant("until", until, now_ns) if until else _settled(reports, now_ns)
    # GPU money is kept by the quarter-hour: all figures speak of the same time.
    until_ns -= until_ns % QUARTER_NS
    since_ns = -(-parse_instant("since", since or LOOK_BACK, now_ns) // QUARTER_NS) * QUARTER_NS
    span = {"since": since_ns, "until": until_ns}
    calls = read_calls(reports.report("recommendations_calls", **span))
    gpus = tuple(reports.report("recommendations_gpus", **span).to_pylist())
    first = [call.start_ns for call in calls] + [instant_ns(row["from_at"]) for row in gpus]
    if not first:
        message = "no closed task and no GPU is recorded in that time; say another with --since and --until"
        raise NotFoundError(message)
    window = Window(max(min(first), since_ns), until_ns)
    return Load(
        window=window,
        calls=calls,
        tools=tuple(reports.report("recommendations_tools", **span).to_pylist()),
        gpus=gpus,
        deployments=_deployments(reports, settings, window, terms),
        slo=Slo(settings.slo.added_wait_s, settings.slo.share),
        zone=settings.zone,
        terms=terms,
        other_prices=other_prices,
    )


def _settled(reports: recording.Reports, now_ns: int) -> int:
    """Find an end at which no task that began before it is open; the earliest tried where there is none."""
    until_ns = now_ns
    for settle_s in SETTLE_S:
        until_ns = now_ns - settle_s * NS_PER_S
        rows = reports.report("replica_need", since=0, until=until_ns).to_pylist()
        if not any(row["open_tasks"] for row in rows):
            break
    return until_ns


def _deployments(
    reports: recording.Reports, settings: Settings, window: Window, terms: Terms
) -> tuple[Deployment, ...]:
    span = window.params()
    fleets = reports.report("fleet", **span).to_pylist()
    needs = {row["deployment"]: row for row in reports.report("replica_need", **span).to_pylist()}
    starts = {
        row["deployment"]: row for row in reports.report("recommendations_cold_starts", **span).to_pylist()
    }
    found = []
    for row in fleets:
        name = row["deployment"]
        if (needs.get(name) or {}).get("open_tasks"):
            reason = f"{needs[name]['open_tasks']} of its tasks are still open, so its load is not settled"
            found.append(Deployment(name, row, reason=reason))
            continue
        since, until = str(span["since"]), str(span["until"])
        wanted = Wanted(name, since, until, concurrency=terms.concurrency)
        block, said = _block(terms, starts.get(name))
        try:
            case, notes = read_case(reports, settings, wanted, block)
        except TaximeterError as error:
            found.append(Deployment(name, row, reason=str(error)))
            continue
        found.append(Deployment(name, row, case, calibrate(case), None, (*said, *notes)))
    return tuple(found)


def _block(terms: Terms, seen: dict[str, Any] | None) -> tuple[FleetBlock, tuple[str, ...]]:
    """Take the cold start that the user says, else the recorded ones, else leave it assumed."""
    if terms.cold_start_s is not None:
        return FleetBlock(cold_start=ColdStartBlock(p50_s=terms.cold_start_s)), ()
    if seen is None or seen["cold_starts"] < _MEASURED_STARTS:
        return FleetBlock(), ()
    p50, p95 = seen["cold_start_p50_s"], seen["cold_start_p95_s"]
    note = f"cold start of {seen['cold_starts']} recorded starts: {p50:.1f} s in the median, p95 {p95:.1f} s"
    return FleetBlock(cold_start=ColdStartBlock(p50_s=p50, p95_s=p95)), (note,)
