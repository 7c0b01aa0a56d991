"""The simulator against queueing theory and against laws that hold on every path."""

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.fleet import Billing, ColdStart, Delay, Fleet, Pool
from planner.outcome import Slo, measure
from planner.policies.fixed import FixedCount
from planner.policies.queue_length import QueueLength
from planner.simulate import Run, simulate
from planner.states import replica_seconds
from planner.testing import Scripted, arrivals, loops, made, pool
from planner.workload import Step, Workload


def waits(load: Workload, run: Run) -> list[float]:
    return [
        begun - came
        for came, begun, served in zip(run.arrived_s, run.begun_s, load.served, strict=True)
        if served
    ]


def erlang_wait_s(rate: float, mean_s: float, servers: int) -> float:
    """Mean wait of M/M/c by Erlang's C formula."""
    offered = rate * mean_s
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    share = offered / servers
    waiting = blocked / (1 - share + share * blocked)
    return waiting * mean_s / (servers * (1 - share))


def batch_mean(values: list[float], batches: int = 40) -> tuple[float, float]:
    """Mean of a series that depends on itself, and the standard error by batch means, the start left out."""
    kept = values[len(values) // 20 :]
    size = len(kept) // batches
    means = [sum(kept[i * size : (i + 1) * size]) / size for i in range(batches)]
    mean = sum(means) / batches
    return mean, math.sqrt(sum((one - mean) ** 2 for one in means) / (batches - 1) / batches)


@pytest.mark.parametrize(("servers", "load_share"), [(1, 0.7), (3, 0.8), (8, 0.9)])
def test_mean_waits_of_m_m_c_are_erlangs(servers: int, load_share: float) -> None:
    """Random arrivals and services wait as Erlang's C says, within three standard errors."""
    random = Random(servers)
    count, mean_s = 60_000, 1.0
    rate = load_share * servers / mean_s
    load = arrivals(
        [random.expovariate(rate) for _ in range(count)],
        [random.expovariate(1 / mean_s) for _ in range(count)],
    )
    # Half of the servers as replicas of their own and half as slots gives the same queue.
    fleet = pool(servers) if servers == 3 else pool(1)
    run = simulate(load, FixedCount(1 if servers == 3 else servers), fleet)
    found, error = batch_mean(waits(load, run))

    assert found == pytest.approx(erlang_wait_s(rate, mean_s, servers), abs=3 * error)
    assert error < 0.15 * found


@pytest.mark.parametrize("servers", [1, 4])
def test_mean_waits_of_m_d_c_are_those_of_theory(servers: int) -> None:
    """Equal services wait half of Erlang's for one server, and by Cosmetatos' correction for more."""
    random = Random(5)
    count, share = 60_000, 0.8
    load = arrivals([random.expovariate(share * servers) for _ in range(count)], [1.0] * count)
    run = simulate(load, FixedCount(servers), pool(1))
    found, error = batch_mean(waits(load, run))
    more = (1 - share) * (servers - 1) * (math.sqrt(4 + 5 * servers) - 2) / (16 * share * servers)
    theory = 0.5 * (1 + more) * erlang_wait_s(share * servers, 1.0, servers)

    assert found == pytest.approx(theory, abs=3 * error + (0.02 * theory if servers > 1 else 0))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 80),
    replicas=st.integers(1, 5),
    concurrency=st.integers(1, 3),
)
def test_one_more_replica_never_lets_anybody_wait_longer(
    seed: int, count: int, replicas: int, concurrency: int
) -> None:
    """On one path of arrivals and services, N + 1 replicas begin every call no later than N."""
    random = Random(seed)
    load = arrivals(
        [random.expovariate(1) for _ in range(count)], [random.expovariate(0.3) for _ in range(count)]
    )
    fewer, more = (simulate(load, FixedCount(n), pool(concurrency)) for n in (replicas, replicas + 1))

    assert all(after <= before + 1e-9 for before, after in zip(fewer.begun_s, more.begun_s, strict=True))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    concurrency=st.integers(1, 4),
    slow=st.sampled_from([0.0, 0.2]),
    hazard=st.sampled_from([0.0, 20.0]),
)
def test_work_in_is_work_done_and_held_time_is_in_one_state(
    seed: int, concurrency: int, slow: float, hazard: float
) -> None:
    """Whatever scales, slows down or is lost: every step ends once, and the states sum to the time held."""
    load = loops(12, 6, 900, seed)
    if slow:
        load = _slowed(load, slow)
    fleet = Fleet(
        (
            Pool(
                concurrency=concurrency,
                most=4,
                cold_start=ColdStart(Delay(20, 40)),
                preempted_per_hour=hazard,
            ),
        ),
        seed=seed,
    )
    run = simulate(load, QueueLength(max_replicas=4), fleet)
    seconds = replica_seconds(load, run, concurrency, cold_is_held=True)
    held = sum(
        gone - asked for asked, gone in zip(run.replicas.asked_s, run.replicas.gone_s, strict=True) if gone
    )

    assert run.unfinished == 0
    assert not any(math.isnan(end) for end in run.ended_s)
    assert sum(seconds.values()) == pytest.approx(held)
    assert seconds["serving"] <= sum(load.work_s) * (1 + 4 * slow) + 1e-6 or hazard
    if not slow and not hazard:
        took = [end - begun for end, begun in zip(run.ended_s, run.begun_s, strict=True)]
        assert took == pytest.approx(load.work_s)


def _slowed(load: Workload, ratio: float) -> Workload:
    import dataclasses

    return dataclasses.replace(load, slow_down=ratio)


def test_the_same_seed_gives_the_same_replay_and_another_one_another() -> None:
    """Cold starts and pre-emptions are drawn, and drawn again the same."""
    load = loops(10, 5, 600)

    def ends(seed: int) -> list[float]:
        spot = Pool(cold_start=ColdStart(Delay(10, 60)), preempted_per_hour=30.0)
        return simulate(load, QueueLength(max_replicas=3), Fleet((spot,), seed=seed)).ended_s

    assert ends(4) == ends(4)
    assert ends(4) != ends(5)


def test_a_late_answer_delays_what_follows_it() -> None:
    """Two tasks share one slot: the second task's later call moves with its first, and its pause stays."""
    call_a = Step(0, 0, 0, 10, 10, is_served=True)
    first, then = Step(1, 1, 1, 3, 2, is_served=True), Step(1, 1, 4, 5, 1, is_served=True)
    run = simulate(made([call_a, first, then]), FixedCount(1), pool())

    assert run.ended_s == [10, 12, 14]


def test_a_cold_start_is_waited_for_and_billed_only_where_the_provider_bills_it() -> None:
    """The first call wakes a replica of 30 s; billed it is held for 30 s more than unbilled."""
    load = arrivals([5], [10], horizon_s=5)
    policy = lambda: Scripted(lambda now: int(5 <= now < 40))  # noqa: E731
    billed = simulate(load, policy(), pool(cold_start=ColdStart(Delay(30, 30))))
    free = simulate(load, policy(), pool(cold_start=ColdStart(Delay(30, 30), is_billed=False)))

    assert billed.begun_s == free.begun_s == [35]
    outcomes = [
        measure(load, run, pool(cold_start=ColdStart(Delay(30, 30), is_billed=flag)), "x", Slo())
        for run, flag in ((billed, True), (free, False))
    ]
    assert [round(one.gpu_hours * 3_600, 6) for one in outcomes] == [40, 10]
    assert [round(one.gpu_hours_by_state["cold_start"] * 3_600, 6) for one in outcomes] == [30, 0]
    assert outcomes[0].slo_ratio == 0


def test_a_replica_that_was_let_go_shortly_before_is_woken_hot() -> None:
    """Within the time it sleeps a replica is back after 4 s, later it loads for 85 s."""
    start = ColdStart(Delay(85, 85), hot=Delay(4, 4), hot_for_s=100)
    load = arrivals([0, 60, 400], [1, 1, 1])
    run = simulate(
        load,
        Scripted(lambda now: int(now < 10 or 60 <= now < 70 or now >= 460), start=1),
        pool(cold_start=start),
    )

    assert run.begun_s == [0, 64, 460 + 85]
    assert (run.replicas.hot_wakes, run.replicas.cold_starts) == (1, 1)


def test_a_replica_that_is_let_go_serves_what_it_has_and_takes_nothing_new() -> None:
    """Scaled in at 2 s, it ends its call at 10 s; the next call waits for another."""
    load = arrivals([0, 5], [10, 1])
    run = simulate(load, Scripted(lambda now: 0 if 2 <= now < 20 else 1, start=1), pool())

    assert run.ended_s[0] == 10
    assert run.replicas.gone_s[0] == 10
    assert run.begun_s[1] == 20


def test_what_a_lost_spot_replica_served_is_served_again_from_its_start() -> None:
    """After a pre-emption the call begins anew on the next replica, and is counted."""
    load = arrivals([0], [2_000])
    spot = Fleet((Pool(cold_start=ColdStart(Delay(0, 0)), preempted_per_hour=3.0),), seed=1)
    run = simulate(load, FixedCount(1), spot)

    assert run.preempted_steps >= 1
    assert run.ended_s[0] == pytest.approx(run.begun_s[0] + 2_000)
    assert run.begun_s[0] > 0


def test_company_slows_a_call_down_by_the_fitted_ratio() -> None:
    """Two calls of 10 s share a replica at 50 % each other: alone 10 s, together 15 s each."""
    load = _slowed(arrivals([0, 0], [10, 10]), 0.5)
    run = simulate(load, FixedCount(1), pool(concurrency=2))

    assert run.ended_s == pytest.approx([15, 15])
    apart = simulate(load, FixedCount(2), pool(concurrency=2))
    assert apart.ended_s == pytest.approx([10, 10])


def test_company_that_leaves_gives_its_speed_back() -> None:
    """Calls of 4 s and 10 s at 50 %: the short ends at 6 s, the long did 4 s by then and ends at 12 s."""
    run = simulate(_slowed(arrivals([0, 0], [4, 10]), 0.5), FixedCount(1), pool(concurrency=2))

    assert run.ended_s == pytest.approx([6, 12])


def test_another_card_serves_at_its_own_speed() -> None:
    """On a pool of twice the speed a call takes half of its time."""
    run = simulate(arrivals([0], [10]), FixedCount(1), pool(speed=2.0))

    assert run.ended_s == [5]


def test_figures_reach_the_policy_late() -> None:
    """With a scrape lag of 30 s a queue that began at 10 s is seen at 40 s."""
    load = arrivals([10], [1], horizon_s=100)
    run = simulate(load, QueueLength(tick_s=1.0, max_replicas=1), pool()._replace(scrape_lag_s=30.0))

    assert run.begun_s[0] == pytest.approx(40, abs=1)


def test_a_policy_that_wakes_nobody_leaves_calls_unserved_and_the_replay_ends() -> None:
    """Nobody waits for ever for the end of a replay: the calls are counted, and their wait is no number."""
    load = arrivals([5] * 30, [1] * 30)
    run = simulate(load, FixedCount(0), pool())
    outcome = measure(load, run, pool(), "none", Slo())

    assert (run.unfinished, outcome.unfinished_steps) == (30, 30)
    assert outcome.added_wait == (None, None, None)
    assert outcome.slo_ratio == 0


def test_idle_time_is_laid_on_tools_then_other_pauses_then_spare_then_nobody() -> None:
    """Two replicas, one task: call 0-2, tool 2-6, pause 6-7, call 7-8; the range ends at 10."""
    load = made([Step(0, 0, 0, 2, 2, is_served=True), Step(0, 0, 2, 6, 4, is_served=False),
                 Step(0, 0, 7, 8, 1, is_served=True)], horizon_s=10)  # fmt: skip
    run = simulate(load, FixedCount(2), pool())
    seconds = replica_seconds(load, run, 1, cold_is_held=True)

    assert seconds == {
        "serving": 3, "cold_start": 0, "tool_wait": 4, "between_steps": 1, "spare": 8, "no_task": 4
    }  # fmt: skip


@pytest.mark.parametrize(
    ("held_s", "billing", "billed_s"),
    [
        (10.2, Billing(1, 0), 11),
        (10.0, Billing(1, 0), 10),
        (10.0, Billing(1, 60), 60),
        (3_601, Billing(3_600, 0), 7_200),
        (3_600, Billing(3_600, 0), 3_600),
        (61, Billing(60, 0), 120),
        (0, Billing(3_600, 60), 0),
    ],
)
def test_time_is_billed_in_whole_grains_from_a_minimum(
    held_s: float, billing: Billing, billed_s: int
) -> None:
    """A provider rounds up to its grain, charges at least its minimum, and nothing for nothing."""
    assert billing.billed_ns(held_s) == billed_s * 1_000_000_000


def test_policies_are_asked_no_more_once_they_have_settled() -> None:
    """A day without load costs few questions, and skipping them changes no figure."""
    load = arrivals([10, 80_000], [5, 5])
    skipping, asking = QueueLength(tick_s=1.0), QueueLength(tick_s=1.0)
    asking.memory_s = math.inf
    short, long = (simulate(load, policy, pool()) for policy in (skipping, asking))

    assert short.asked < 600 < long.asked
    assert (short.ended_s, short.replicas.gone_s) == (long.ended_s, long.replicas.gone_s)
