"""A backtest: the same recorded load under many policies, beside what really ran."""

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from multiprocessing import get_context
from typing import NamedTuple

from planner.catalogue import make_policy
from planner.facts import Facts
from planner.fleet import Billing, ColdStart, Delay, Fleet
from planner.outcome import Outcome, Slo, Waits, measure
from planner.policies.fixed import RecordedLine
from planner.policy_file import NamedBlocks
from planner.simulate import simulate
from planner.workload import Workload

_WORTH_A_PROCESS = 200_000  # steps in all: starting a process costs about a second
_NOTHING_WAITS = 1e-3


class Recorded(NamedTuple):
    """What really ran: None where the recording does not tell it.

    `line` holds (second, replicas ready) at each change.
    """

    cost_usd: Decimal | None = None
    gpu_hours: float | None = None
    gpu_hours_by_state: dict[str, float] | None = None
    line: tuple[tuple[float, int], ...] = ()
    gpu_coverage_ratio: float | None = None


class Case(NamedTuple):
    """Everything that is the same for all policies of a backtest."""

    workload: Workload
    fleet: Fleet
    facts: Facts
    slo: Slo = Slo()
    recorded: Recorded = Recorded()


class Calibration(NamedTuple):
    """How far a replay of what ran is from what was recorded; None with the reason where none can be made."""

    error_ratio: float | None
    note: str
    gpu_hours_error_ratio: float | None = None
    answer_p95_error_ratio: float | None = None


class Result(NamedTuple):
    """One policy beside what ran: savings are of money, negative where it costs more, None where unknown."""

    outcome: Outcome
    saving_usd: Decimal | None
    saving_ratio: float | None
    keeps_slo: bool | None
    is_on_front: bool


class Backtest(NamedTuple):
    """All results in order of cost, and what must be read beside every saving."""

    case: Case
    results: tuple[Result, ...]
    calibration: Calibration
    coverage_ratio: float | None
    cheapest: str | None  # the cheapest policy that keeps the SLO


def run_backtest(
    case: Case,
    policies: Sequence[NamedBlocks],
    *,
    processes: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> Backtest:
    """Replay every policy; the order and the number of processes change nothing.

    Raises:
        BadInputError: a policy needs a figure that nobody tells.
    """
    names = [make_policy(policy, case.facts).name for policy in policies]
    calibration = calibrate(case)
    outcomes = _replay_all(case, policies, names, processes, tell)
    baseline = case.recorded.cost_usd
    results = sorted(
        (_judge(outcome, case, baseline, outcomes) for outcome in outcomes),
        key=lambda result: (_cost(result.outcome), result.outcome.policy),
    )
    keeping = [
        result.outcome.policy
        for result in results
        if result.keeps_slo and result.outcome.cost_usd is not None
    ]
    return Backtest(case, tuple(results), calibration, coverage(case), keeping[0] if keeping else None)


def replay(case: Case, policy: NamedBlocks) -> Outcome:
    """Replay one policy on the case's workload and fleet.

    Raises:
        BadInputError: it needs a figure that nobody tells.
    """
    made = make_policy(policy, case.facts)
    run = simulate(case.workload, made, case.fleet)
    return measure(case.workload, run, case.fleet, made.name, case.slo)


def coverage(case: Case) -> float | None:
    """Tell the share of the calls that was replayed, or of the GPU time that is known, whichever is less."""
    known = [
        ratio
        for ratio in (case.workload.coverage_ratio, case.recorded.gpu_coverage_ratio)
        if ratio is not None
    ]
    return min(known) if known else None


def calibrate(case: Case) -> Calibration:
    """Replay the replicas that were recorded, and compare GPU-hours and the p95 of calls' time to answer.

    The larger of the two relative errors is the calibration's.
    """
    recorded, workload = case.recorded, case.workload
    if workload.kind != "closed loop":
        return Calibration(None, "only arrivals were recorded, so there is nothing to compare a replay with")
    if not recorded.line or not recorded.gpu_hours:
        return Calibration(None, "no replicas were recorded, so there is nothing to compare a replay with")
    pool = case.fleet.pools[0]._replace(
        cold_start=ColdStart(Delay(0.0, 0.0)), billing=Billing(1e-6), preempted_per_hour=0.0, most=1_000_000
    )
    fleet = Fleet((pool,), seed=case.fleet.seed)
    run = simulate(workload, RecordedLine(list(recorded.line)), fleet)
    outcome = measure(workload, run, fleet, "recorded", case.slo)
    hours = abs(outcome.gpu_hours - recorded.gpu_hours) / recorded.gpu_hours
    answers = _answer_error(workload, run.arrived_s, run.ended_s)
    if answers is None or run.unfinished:
        return Calibration(None, "the replay of the recorded replicas did not serve all calls", hours)
    return Calibration(
        max(hours, answers), "replay of the recorded replicas against the recording", hours, answers
    )


def _answer_error(workload: Workload, arrived: list[float], ended: list[float]) -> float | None:
    """Compare the 95th percentile of calls' time to answer, simulated and recorded."""
    simulated, recorded = [], []
    for step, is_served in enumerate(workload.served):
        if is_served:
            queued = workload.wait_s[step]
            recorded.append(workload.recorded_s[step] + (0.0 if queued != queued else queued))  # noqa: PLR0124
            simulated.append(ended[step] - arrived[step])
    place = max(int(0.95 * len(recorded) + 0.999999) - 1, 0)
    then, now = sorted(recorded)[place], sorted(simulated)[place]
    if now != now:  # noqa: PLR0124 - nan: not all were served
        return None
    return abs(now - then) / then if then > _NOTHING_WAITS else abs(now - then)


def _replay_all(
    case: Case, policies: Sequence[NamedBlocks], names: list[str], processes: int, tell: Callable[[str], None]
) -> list[Outcome]:
    if processes <= 1 or len(policies) * case.workload.steps < _WORTH_A_PROCESS:
        outcomes = []
        for policy, name in zip(policies, names, strict=True):
            tell(name)
            outcomes.append(replay(case, policy))
        return outcomes
    content = pickle.dumps(case, pickle.HIGHEST_PROTOCOL)
    with ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=_take_case, initargs=(content,)
    ) as workers:
        coming = [workers.submit(_replay_here, policy) for policy in policies]
        outcomes = []
        for future, name in zip(coming, names, strict=True):
            outcomes.append(future.result())
            tell(name)
        return outcomes


_HERE: list[Case] = []


def _take_case(content: bytes) -> None:
    """Keep the case in a worker process: it is sent once, not once for each policy."""
    _HERE[:] = [pickle.loads(content)]  # noqa: S301 - our own bytes, from the process that started this one


def _replay_here(policy: NamedBlocks) -> Outcome:
    return replay(_HERE[0], policy)


def _judge(outcome: Outcome, case: Case, baseline: Decimal | None, others: Sequence[Outcome]) -> Result:
    saving = None if baseline is None or outcome.cost_usd is None else baseline - outcome.cost_usd
    ratio = float(saving / baseline) if saving is not None and baseline else None
    keeps = None
    if outcome.slo_ratio is not None:
        keeps = outcome.unfinished_steps == 0 and outcome.slo_ratio >= case.slo.share
    return Result(outcome, saving, ratio, keeps, _is_on_front(outcome, others))


def _is_on_front(outcome: Outcome, others: Sequence[Outcome]) -> bool:
    """Tell whether no other is both no dearer and no slower, and better in one of them."""
    cost, wait = _cost(outcome), _wait(outcome.added_wait)
    for other in others:
        theirs = (_cost(other), _wait(other.added_wait))
        if theirs[0] <= cost and theirs[1] <= wait and theirs != (cost, wait):
            return False
    return True


def _cost(outcome: Outcome) -> float:
    """Order by money, and by billed GPU-hours where no price is known."""
    return outcome.billed_gpu_hours if outcome.cost_usd is None else float(outcome.cost_usd)


def _wait(waits: Waits) -> float:
    if waits.p50 is None:
        return float("inf")
    return waits.p95 if waits.p95 is not None else waits.p50
