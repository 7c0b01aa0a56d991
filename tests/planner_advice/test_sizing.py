"""Sizing: turns, bursts, the break-even of cold starts and the share of a small model, by hand."""

from decimal import Decimal
from typing import Any

import pytest

from planner.advice.testing import CHEAP, call, deployment, load
from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.sizing.cards import break_even, measure_burst
from planner.sizing.desk import size_table
from planner.sizing.narrow import measure_narrow
from planner.sizing.turns import burst_tasks, levels, measure_turns
from planner.testing import made
from planner.workload import Step


def turns(count: int, rounds: int, seconds: float, start: int = 0) -> list[Any]:
    """Tasks of so many rounds and seconds, one after another."""
    return [
        call(
            (start + n) * 100 + r,
            (start + n) * 1_000.0 + r,
            task_id=f"t{start + n}",
            task_rounds=rounds,
            task_s=seconds,
            task_start_ns=call(0, (start + n) * 1_000.0).start_ns,
            round=r + 1,
        )
        for n in range(count)
        for r in range(rounds)
    ]


def test_a_turn_budget_is_rounds_times_the_median_round() -> None:
    """95 tasks of 2 rounds in 10 s and 5 of 20 rounds in 200 s: 5 s a round in the median, p99 100 s."""
    (turn,) = measure_turns(turns(95, 2, 10.0) + turns(5, 20, 200.0, start=95))

    assert turn.rounds == (2, 2, 20)
    assert turn.round_p50_s == 5
    assert turn.budget_s == (10, 10, 100)
    assert turn.turn_s == (10, 10, 200)


def test_few_tasks_have_no_far_percentiles() -> None:
    """Nineteen tasks have a median and no 95th percentile."""
    (turn,) = measure_turns(turns(19, 2, 10.0))

    assert turn.rounds == (2, None, None)
    assert turn.budget_s == (10, None, None)


def test_bursts_count_what_ran_at_once() -> None:
    """Three stretches of which two overlap for a hundredth of the time: two at once, one for 99 % of it."""
    assert levels([(0.0, 10.0), (9.9, 20.0)]) == (2, 1)
    assert levels([(0.0, 10.0), (10.0, 20.0)]) == (1, 1)
    assert levels([]) == (0, 0)
    assert burst_tasks(turns(3, 2, 1_500.0)) == (2, 2)


def own(took_s: float = 20.0, at_once: int = 5, calls: int = 24) -> Any:
    steps = [
        Step(n * at_once + k, n * at_once + k, n * 3_600.0, n * 3_600.0 + took_s, took_s, True, 0.0)
        for n in range(calls)
        for k in range(at_once)
    ]
    pool = Pool(
        concurrency=2,
        usd_per_replica_hour=Decimal(2),
        gpus_per_replica=2,
        cold_start=ColdStart(Delay(85.3, 85.3)),
    )
    return deployment(made(steps), Fleet((pool,)), replicas=3)


def test_a_burst_takes_whole_replicas_of_cards() -> None:
    """Five calls at once with two places a replica and two cards each: three replicas, six cards."""
    burst = measure_burst(own().case)

    assert (burst.in_flight_peak, burst.in_flight_p99, burst.cards_peak, burst.cards_p99) == (5, 5, 6, 6)
    assert burst.in_flight_mean == pytest.approx(24 * 5 * 20 / 86_400)
    assert burst.cards_mean == pytest.approx(burst.in_flight_mean)


def test_releasing_pays_up_to_a_cold_start_that_the_slo_allows() -> None:
    """A call an hour: whoever finds no replica waits, so the longest start is the accepted wait, 2 s."""
    found = break_even(own(at_once=1).case)

    assert found.slo_s == pytest.approx(2.0, abs=1.0)
    assert found.slo_s <= 2.0
    assert found.cost_s is not None
    assert found.cost_s > found.slo_s
    assert found.own_s == 85.3
    assert not found.pays


def test_a_fleet_without_a_price_has_no_break_even() -> None:
    """Nobody knows what letting go saves where nobody knows what holding costs."""
    case = own().case
    pool = case.fleet.pools[0]._replace(usd_per_replica_hour=None)
    bare = case._replace(fleet=Fleet((pool,)), recorded=case.recorded._replace(cost_usd=None))

    found = break_even(bare)

    assert (found.cost_s, found.slo_s, found.pays) == (None, None, False)


def test_the_share_for_a_small_model_lists_the_steps_and_their_saving() -> None:
    """Twenty of sixty calls route: a third of the calls, priced at the model that others use."""
    routing = [call(n, n * 60.0, agent="router", output=10, asked_tool=False) for n in range(20)]
    coding = [call(100 + n, n * 60.0) for n in range(20)]
    small = [call(200 + n, n * 60.0, model="small", rates=CHEAP) for n in range(20)]

    share, steps = measure_narrow(load(routing + coding + small))

    assert (share.calls, share.narrow_calls, share.narrow_ratio) == (60, 20, pytest.approx(1 / 3))
    assert [(step.title, step.calls) for step in steps] == [("router: chat on large", 20)]
    assert share.saving_usd == steps[0].saving_usd == Decimal("0.1872")


def test_what_nobody_knows_has_no_figure_in_the_table() -> None:
    """Without a cheaper model the saving is null and its provenance unknown; the cost stays known."""
    table = size_table(load([call(n, n * 60.0) for n in range(20)], deployments=(own(),)))
    rows = {(row["topic"], row["about"], row["figure"]): row for row in table.to_pylist()}

    saving = rows["small_model", "all model calls", "saving"]
    assert (saving["usd"], saving["value"], saving["provenance"]) == (None, None, "unknown")
    assert rows["small_model", "all model calls", "cost"]["usd"] == Decimal("8.516666666667")
    assert rows["burst", "own", "cards_peak"]["value"] == 6
    assert rows["turns", "work", "rounds_p99"]["provenance"] == "unknown"
    assert "does not pay" in rows["cold_start", "own", "own"]["note"]
