"""Each kind of advice about cards, replayed on loads made by hand."""

from decimal import Decimal
from typing import Any

import pytest

from planner.advice.found import Advice, Refusal
from planner.advice.kinds import change_billing, colocate, release_gpu, scale_down, scale_to_zero, spot
from planner.advice.load import Deployment, Terms
from planner.advice.merge import busy_overlap, merge
from planner.advice.schedule import HourOfWeek, needed_by_hour, peak
from planner.advice.testing import DAY_S, START_NS, deployment, gpu, load
from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.simulate import simulate
from planner.testing import look, made
from planner.workload import Step, Workload
from warehouse.prices.rows import GpuPrice

QUICK = ColdStart(Delay(1.0, 1.0))
SLOW = ColdStart(Delay(300.0, 300.0))


def fleet(cold_start: ColdStart = QUICK, concurrency: int = 1, usd: int | None = 1) -> Fleet:
    price = None if usd is None else Decimal(usd)
    return Fleet((Pool(concurrency=concurrency, usd_per_replica_hour=price, cold_start=cold_start),))


def calls(*starts_s: float, took_s: float = 10.0) -> Workload:
    """Tasks of one call each."""
    return made([Step(n, n, s, s + took_s, took_s, True, 0.0) for n, s in enumerate(starts_s)])


def hourly(hours: range, took_s: float = 10.0, at_once: int = 1) -> Workload:
    """So many calls at once in the middle of each of these hours."""
    return calls(*(h * 3_600 + 1_800 + 0.001 * n for h in hours for n in range(at_once)), took_s=took_s)


def advice(found: Any) -> list[Advice]:
    return [one for one in found if isinstance(one, Advice)]


def reasons(found: Any) -> str:
    return "; ".join(one.reason for one in found if isinstance(one, Refusal))


def of(one: Deployment, **parts: Any) -> Any:
    return load(deployments=(one,), **parts)


def test_fewer_replicas_are_advised_where_one_serves_all_in_time() -> None:
    """Three held for a day at $1 an hour and one call at a time: two of them, $48, were not needed."""
    (one,) = advice(scale_down.find(of(deployment(hourly(range(24)), fleet(), replicas=3))))

    assert one.cost_usd == 72
    assert one.saving.usd == pytest.approx(Decimal(48), abs=Decimal("0.02"))
    assert one.waits is not None
    assert (one.waits.p50, one.slo_ratio) == (0, 1)
    assert one.manifest is not None
    assert "HorizontalPodAutoscaler" in one.manifest
    assert one.evidence.params["deployment"] == "own"


def test_replicas_that_the_slo_needs_stay() -> None:
    """Three calls of ten minutes at once with a place each: nobody would wait so long, so all stay."""
    found = list(scale_down.find(of(deployment(hourly(range(24), 600, 3), fleet(), replicas=3))))

    assert advice(found) == []
    assert "no replayed way keeps 95.0 % of calls within 2 s" in reasons(found)


def test_by_the_hour_of_the_week_each_hour_holds_what_it_needed() -> None:
    """Eight days with three long calls at once from 9 to 11: three replicas then, none otherwise."""
    busy = [day * 24 + hour for day in range(8) for hour in (9, 10)]
    starts = [h * 3_600 + 600 + 0.001 * n for h in busy for n in range(3)]
    own = deployment(calls(*starts, took_s=1_500.0), fleet(), replicas=3, days=8.0)

    (one,) = advice(scale_down.find(of(own, days=8.0)))

    assert own.case is not None
    needs = needed_by_hour(own.case, "UTC")
    assert {hour for hour, count in needs.items() if count == 3} == {
        d * 24 + h for d in range(7) for h in (9, 10)
    }
    assert set(needs.values()) == {0, 3}
    assert len(needs) == 168
    assert peak(own.case) == 3
    assert "ScaledObject" in (one.manifest or "")
    hours = sum(3 for _ in busy)
    assert one.saving.usd is not None
    assert one.cost_usd - one.saving.usd == pytest.approx(Decimal(hours), rel=Decimal("0.05"))
    assert one.confidence in {"high", "medium"}


def test_hours_need_whole_replicas_of_the_places_they_have() -> None:
    """Three calls at once with two places a replica need two; hours that were not looked at are left out."""
    case = deployment(hourly(range(24), 600, 3), fleet(concurrency=2), replicas=3).case
    assert case is not None

    assert set(needed_by_hour(case, "UTC").values()) == {2}
    assert sorted(needed_by_hour(case, "UTC", 3_000.0)) == [24]


def test_a_schedule_of_two_weeks_is_read_off_the_first_and_replayed_on_both() -> None:
    """Calls that only the second week has must wait: then hours are no safe ground, and it says so."""
    busy = [day * 24 + 9 for day in range(7, 14)]
    starts = [h * 3_600 + 600 + 0.001 * n for h in busy for n in range(3)]
    steady = [day * 86_400 + 600.0 for day in range(14)]
    own = deployment(calls(*starts, *steady, took_s=1_500.0), fleet(), replicas=3, days=14.0)

    found = list(scale_down.find(of(own, days=14.0)))

    assert all("hour of the week" not in one.sentence for one in advice(found))


def test_a_schedule_starts_replicas_before_the_hour_that_needs_them() -> None:
    """Ten minutes before nine with a lead of fifteen the nine o'clock number is asked for."""
    policy = HourOfWeek(
        {hour: 5 if hour == 24 + 9 else 1 for hour in range(168)}, start_ns=START_NS, zone="UTC", lead_s=900
    )

    assert [policy.decide(look(9 * 3_600 + s)) for s in (-1_000, -600, 0, 2_000, 3_601)] == [1, 5, 5, 5, 1]


def test_a_schedule_follows_the_clock_on_the_wall() -> None:
    """Nine o'clock in Berlin is seven o'clock UTC in summer."""
    policy = HourOfWeek(
        {hour: 5 if hour == 24 + 9 else 1 for hour in range(168)},
        start_ns=START_NS,
        zone="Europe/Berlin",
        lead_s=0,
    )

    assert [policy.decide(look(h * 3_600.0)) for h in (6, 7, 8)] == [1, 5, 1]


def test_zero_replicas_are_advised_where_cold_starts_are_short() -> None:
    """A call an hour and a start of one second: all but the minutes around the calls is saved."""
    (one,) = advice(scale_to_zero.find(of(deployment(hourly(range(24)), fleet(), replicas=1))))

    assert one.saving.usd is not None
    assert one.saving.usd > 20
    assert one.waits is not None
    assert one.waits.p50 == pytest.approx(1.0, abs=0.1)
    assert "minScale" in (one.manifest or "") or "min" in (one.manifest or "").lower()


def test_zero_replicas_are_not_advised_where_cold_starts_eat_the_slo() -> None:
    """The same load with a start of five minutes would keep everybody waiting."""
    found = list(scale_to_zero.find(of(deployment(hourly(range(24)), fleet(SLOW), replicas=1))))

    assert advice(found) == []
    assert "costs less than the $24.00 that ran" in reasons(found)


def test_another_bill_is_the_coarsest_that_saves_most() -> None:
    """Calls in three hours of the day, bills by the second: hours are dearer, and are not advised."""
    (one,) = advice(change_billing.find(of(deployment(hourly(range(3)), fleet(), replicas=1))))

    assert "billed by the" in one.sentence
    assert "whole hour" not in one.sentence
    assert one.saving.usd is not None
    assert Decimal(23) < one.saving.usd < 24


KINDS = (scale_down, scale_to_zero, change_billing, spot, colocate)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (deployment(hourly(range(24)), fleet(usd=None)), "its cards have no price"),
        (
            deployment(hourly(range(24)), fleet(), gpu_coverage_ratio=0.89),
            "89.0 % of its calls and GPU time is known",
        ),
        (deployment(hourly(range(12)), fleet(), days=0.5), "it was let go at"),
        (Deployment("own", {}, reason="nothing of it can be replayed"), "nothing of it can be replayed"),
    ],
)
def test_a_deployment_of_which_too_little_is_known_gets_no_advice(
    kind: Any, one: Deployment, reason: str
) -> None:
    """Without a price, under 90 % coverage, after it was let go: every kind refuses and says why."""
    found = list(kind.find(of(one)))

    assert advice(found) == []
    assert reason in reasons(found)


def test_a_forgotten_card_saves_what_it_cost() -> None:
    """Held all day and used for nothing: its whole bill, and its own rows as evidence."""
    (one,) = advice(release_gpu.find(load(gpus=(gpu(),))))

    assert one.saving.usd == 24
    assert one.evidence.params["gpu_id"] == "h/GPU-1/b"
    assert load().window.month(one.saving.usd) == 730


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"used_s": 1.0}, ""),
        ({"still_held": False}, ""),
        ({"unknown_s": 0.11 * DAY_S}, "its state is known for 89.0 %"),
        ({"cost_usd": None}, "it has no price"),
        ({"held_s": 3_600.0}, "it was held for 1.0 h of 24.0 h only"),
    ],
)
def test_a_card_that_may_be_used_is_not_called_forgotten(columns: dict[str, Any], reason: str) -> None:
    """One use, an unknown tenth of the time, or no price is enough."""
    found = list(release_gpu.find(load(gpus=(gpu(**columns),))))

    assert advice(found) == []
    assert reasons(found).startswith(reason)


def test_an_idle_card_of_a_deployment_that_works_is_not_forgotten() -> None:
    """It is spare: how many are needed is for scale_down to say."""
    cards = (gpu("a", deployment="own"), gpu("b", deployment="own", used_s=5.0))

    assert list(release_gpu.find(load(gpus=cards))) == []


def fan_out(tasks: int) -> Workload:
    """Tasks of a long call beside two short ones, which have slack until the long one ends."""
    steps = []
    for task in range(tasks):
        begin = task * 600.0
        steps += [Step(task, task, begin, begin + 300.0, 300.0, True, 0.0)]
        steps += [Step(task, task, begin + 1, begin + 21.0, 20.0, True, 0.0) for _ in range(2)]
    return made(steps)


SPOT = GpuPrice(
    "CARD", "p", None, "spot", Decimal("0.25"), 0, "spot list", is_default=False, is_user_row=False
)


def test_spot_takes_what_the_critical_path_does_not_need() -> None:
    """One replica for the long calls, two on spot at a quarter of the price for those with slack."""
    own = deployment(fan_out(140), fleet(), replicas=3)

    (one,) = advice(spot.find(of(own, terms=Terms(preempted_per_hour=0.0), other_prices=(SPOT,))))

    assert one.saving.usd == pytest.approx(Decimal(24) * 2 * Decimal("0.75"), rel=Decimal("0.01"))
    assert "66.7 % of calls have slack" in one.signal
    assert "spot list" in (one.price_source or "")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"terms": Terms(preempted_per_hour=0.0)}, "no spot price of CARD is in the price book"),
        ({"other_prices": (SPOT,)}, "--preempted-per-hour"),
    ],
)
def test_spot_without_a_price_or_a_rate_of_loss_is_not_advised(parts: dict[str, Any], reason: str) -> None:
    """Neither is ever made up."""
    found = list(spot.find(of(deployment(fan_out(140), fleet(), replicas=3), **parts)))

    assert advice(found) == []
    assert reason in reasons(found)


def test_calls_without_slack_keep_their_own_cards() -> None:
    """Tasks of one call each are all critical path."""
    found = list(spot.find(of(deployment(hourly(range(24)), fleet()), other_prices=(SPOT,))))

    assert "0.0 % of its calls are off the critical path" in reasons(found)


def pair(shift_s: float = 900.0, used_mib: float | None = 30_000.0, **row: Any) -> Any:
    day = calls(*(h * 3_600.0 for h in range(24)))
    night = calls(*(h * 3_600.0 + shift_s for h in range(24)))
    one = deployment(day, fleet(), name="one", replicas=1)
    two = deployment(night, fleet(), name="two", replicas=1, **row)
    cards = [
        gpu(name, deployment=name, used_s=1.0, memory_used_mib=used_mib, memory_total_mib=80_000.0)
        for name in ("one", "two")
    ]
    return load(deployments=(one, two), gpus=tuple(cards))


def test_services_that_are_never_busy_at_once_share_their_cards() -> None:
    """Two models of 30 GiB on cards of 80, busy at other times: one of two cards, $24 a day, is saved."""
    (one,) = advice(colocate.find(pair()))

    assert one.saving.usd == pytest.approx(Decimal(24), abs=Decimal("0.01"))
    assert one.remedy.joined == ("one", "two")


@pytest.mark.parametrize(
    ("pair_of", "reason"),
    [
        (pair(shift_s=5.0), "both are busy at once for 33.3 % of the time"),
        (pair(used_mib=60_000.0), "they do not fit: 60,000 and 60,000 MiB were in use of 80,000"),
        (pair(used_mib=None), "is not recorded"),
        (pair(sku="OTHER"), "they run on different cards"),
    ],
)
def test_services_that_would_be_in_each_others_way_stay_apart(pair_of: Any, reason: str) -> None:
    """Overlap, memory, unknown memory, other cards: each is a reason that is listed."""
    found = list(colocate.find(pair_of))

    assert advice(found) == []
    assert reason in reasons(found)


def test_merged_loads_are_served_as_each_alone_where_there_is_room() -> None:
    """With a place for everybody each step of the merged load ends when it did."""
    first, second = fan_out(5), hourly(range(2))
    both = merge(first, second)
    pool = Fleet((Pool(concurrency=10, cold_start=ColdStart(Delay(0, 0))),))

    run = simulate(both, scale_down.FixedCount(1), pool)

    assert both.steps == first.steps + second.steps
    for step, start in enumerate(both.start_s):
        assert run.ended_s[step] == pytest.approx(start + both.recorded_s[step])
    assert busy_overlap(first, first) == 1
    assert busy_overlap(first, calls(1e6)) == 0
