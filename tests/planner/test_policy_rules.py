"""Each policy against a worked example or an edge that its makers document."""

import pytest

from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.policies.agent_autoscale import AgentAutoscale, Exact, Trigger, read_scale_down, read_scale_up
from planner.policies.fixed import FixedCount, RecordedLine
from planner.policies.hpa import Hpa, Limits, wanted_by_pods, wanted_in_all
from planner.policies.keda import Keda
from planner.policies.knative import Knative
from planner.policies.prewarm import Prewarm
from planner.policies.profiles import Profiles, StepProfile, measure_profiles
from planner.policies.queue_length import QueueLength
from planner.policies.ray_serve import RayServe
from planner.policies.skyserve import SkyServe, SpotMix
from planner.policies.token_rate import TokenRate
from planner.simulate import simulate
from planner.testing import arrivals, look, made, pool
from planner.workload import Step
from taximeter.errors import BadInputError

# HPA ---------------------------------------------------------------------------------------------------


def test_hpa_doubles_at_twice_the_target_and_halves_at_half() -> None:
    """Kubernetes' own example: 200m against 100m doubles, 50m halves, 105m is within the tolerance."""
    assert wanted_by_pods(2, [200, 200], 100) == 4
    assert wanted_by_pods(4, [50, 50, 50, 50], 100) == 2
    assert wanted_by_pods(2, [105, 105], 100) == 2
    assert wanted_by_pods(3, [111, 111, 111], 100) == 4


def test_hpa_takes_a_missing_metric_at_the_target_down_and_at_nothing_up() -> None:
    """One pod of three without a metric: 20 % of the target scales down less, 200 % scales up less."""
    assert wanted_by_pods(3, [20, 20, None], 100) == 2
    assert wanted_by_pods(3, [200, 200, None], 100) == 4
    assert wanted_by_pods(2, [None, None], 100) == 2


def test_hpa_changes_nothing_where_missing_metrics_turn_the_direction() -> None:
    """At 150 % of two pods with two missing, the corrected mean is below the target: no change."""
    assert wanted_by_pods(4, [150, 150, None, None], 100) == 4


def test_hpa_counts_pods_that_are_not_ready_as_idle_when_it_would_scale_up() -> None:
    """Two pods at 200 % and two that start: nothing more is asked for, those who start will do."""
    assert wanted_by_pods(4, [200, 200], 100, not_ready=2) == 4
    assert wanted_by_pods(4, [500, 500], 100, not_ready=2) == 10


def test_hpa_on_a_metric_of_the_whole_divides_by_the_target() -> None:
    """25 calls at a target of 10 are 3 replicas; 32 at 3 are within 10 %; unknown changes nothing."""
    assert wanted_in_all(1, 25, 10) == 3
    assert wanted_in_all(3, 32, 10) == 3
    assert wanted_in_all(3, 34, 10) == 4
    assert wanted_in_all(3, None, 10) == 3


def test_hpa_goes_down_only_to_the_most_it_wanted_within_five_minutes() -> None:
    """After a peak of 8 the replicas stay for 300 s, then go to what was wanted since."""
    hpa = Hpa(target=1, max_replicas=10)
    assert [hpa.follow(0, 8, 8.0)] == [8]
    assert [hpa.follow(now, 8, 2.0) for now in range(15, 301, 15)] == [8] * 20
    assert hpa.follow(315, 8, 2.0) == 2


def test_hpa_grows_by_the_more_of_double_and_four_in_fifteen_seconds() -> None:
    """From 1 it may go to 5, from 5 to 10, from 10 to 20; within one period not again."""
    hpa = Hpa(target=1, max_replicas=100)

    assert hpa.follow(0, 1, 100.0) == 5
    assert hpa.follow(5, 5, 100.0) == 5
    assert hpa.follow(15, 5, 100.0) == 10
    assert hpa.follow(30, 10, 100.0) == 20


def test_hpa_upward_stabilization_takes_the_least_of_its_window() -> None:
    """With an upward window of 60 s a spike alone adds nothing."""
    hpa = Hpa(target=1, max_replicas=10, limits=Limits(up_window_s=60))
    hpa.follow(0, 2, 2.0)

    assert hpa.follow(15, 2, 8.0) == 2
    assert [hpa.follow(now, 2, 8.0) for now in (30, 45, 60)] == [2, 2, 2]
    assert hpa.follow(75, 2, 8.0) == 6


# KEDA --------------------------------------------------------------------------------------------------


def test_keda_wakes_at_its_polling_and_only_strictly_over_the_activation() -> None:
    """At 0 a metric equal to the activation does nothing, one over it makes 1 at the next polling."""
    keda = Keda(threshold=10, activation=2)

    assert keda.decide(look(0, ready=0, in_system=2)) == 0
    assert keda.decide(look(15, ready=0, in_system=3)) == 0
    assert keda.decide(look(30, ready=0, in_system=3)) == 1


def test_keda_jumps_from_n_to_zero_after_the_cooldown() -> None:
    """Five replicas go at once, 300 s after the trigger was last active: no step between."""
    keda = Keda(threshold=1, limits=Limits(down_window_s=600))
    keda.decide(look(0, ready=5, in_system=5))
    counts = {now: keda.decide(look(now, ready=5, in_system=0)) for now in range(15, 316, 15)}

    assert {counts[now] for now in range(15, 300, 15)} == {5}
    assert counts[300] == 0


def test_keda_with_a_minimum_of_one_is_the_hpa() -> None:
    """Nothing goes to zero, however long nobody calls."""
    keda = Keda(threshold=1, min_replicas=1)

    assert {keda.decide(look(now, ready=1)) for now in range(0, 1_200, 15)} == {1}


def test_keda_falls_back_after_three_failures() -> None:
    """A metric that fails keeps the replicas; from the third time it is the target times the fallback."""
    keda = Keda(threshold=10, min_replicas=1, fallback_replicas=4)
    found = [keda.decide(look(now, ready=2, queued=None)) for now in (0, 15, 30)]

    assert found == [2, 2, 4]


# Knative -----------------------------------------------------------------------------------------------


def test_knative_scales_to_the_mean_over_the_target() -> None:
    """A mean concurrency of 140 at a target of 70 is two replicas."""
    kpa = Knative(target=70)

    assert kpa.follow(0, 1, stable=140, panic=140, provisioned=1) == 2


def test_knative_panics_at_twice_what_stands_and_never_goes_down_in_panic() -> None:
    """The short window wants 4 of 1: panic. It ends a stable window after it was last over the threshold."""
    kpa = Knative(target=10)

    assert kpa.follow(0, 1, stable=10, panic=40, provisioned=1) == 4
    assert kpa.is_in_panic
    assert [kpa.follow(now, 4, stable=5, panic=5, provisioned=4) for now in (2, 30, 60)] == [4, 4, 4]
    assert kpa.follow(62, 4, stable=5, panic=5, provisioned=4) == 2
    assert not kpa.is_in_panic


def test_knative_halves_at_most_and_fresh_with_several_pods_it_is_in_panic() -> None:
    """Ten pods go to five in one tick at most; an autoscaler that finds ten pods begins in panic."""
    kpa = Knative(target=10)

    assert kpa.follow(0, 10, stable=10, panic=10, provisioned=10) == 10
    assert kpa.is_in_panic
    assert kpa.follow(61, 10, stable=10, panic=10, provisioned=10) == 5


def test_knative_goes_to_zero_after_a_silent_window_and_the_grace() -> None:
    """One replica stays for the grace of 30 s after the stable window is empty."""
    kpa = Knative(target=10)

    assert kpa.follow(0, 1, stable=0, panic=0, provisioned=1) == 1
    assert kpa.follow(28, 1, stable=0, panic=0, provisioned=1) == 1
    assert kpa.follow(30, 1, stable=0, panic=0, provisioned=1) == 0


def test_knative_scale_down_delay_takes_the_most_of_its_window() -> None:
    """With a delay of 30 s a lower wish holds only after 30 s."""
    kpa = Knative(target=10, down_delay_s=30)
    kpa.follow(0, 1, stable=20, panic=10, provisioned=1)

    assert kpa.follow(10, 2, stable=10, panic=10, provisioned=2) == 2
    assert kpa.follow(31, 2, stable=10, panic=10, provisioned=2) == 1


# Ray Serve ---------------------------------------------------------------------------------------------


def test_ray_serve_waits_its_delays_and_turning_round_starts_anew() -> None:
    """Up after 30 s of wishing it, down after 600 s; one round of another wish starts the count again."""
    ray = RayServe(target_ongoing_requests=2)
    rounds = [ray.follow(now, 6.0) for now in range(31)]
    assert (set(rounds[:30]), rounds[30]) == ({1}, 3)

    assert ray.follow(31, 2.0) == 3
    assert ray.follow(600, 6.0) == 3
    assert ray.follow(601, 2.0) == 3
    assert ray.follow(1_200, 2.0) == 3
    assert ray.follow(1_201, 2.0) == 1


def test_ray_serve_does_not_stick_by_rounding() -> None:
    """From 3 with a factor of 0.5 to a wish of 2: 2.5 rounds up to 3, so one is taken off."""
    ray = RayServe(target_ongoing_requests=1, downscaling_factor=0.5, min_replicas=1)
    ray.current = 3

    assert ray.wanted(2.0) == 2
    assert ray.wanted(2.5) == 3


def test_ray_serve_goes_to_zero_in_two_stages_and_comes_back_at_once() -> None:
    """From 4 to 1, and after the delay to zero from 1 to 0; at 0 a request makes one without a delay."""
    ray = RayServe(min_replicas=0, downscale_delay_s=10, to_zero_delay_s=60)
    ray.current = 4
    seen = {now: ray.follow(now, 0.0) for now in range(80)}

    assert (seen[9], seen[10], seen[70], seen[71]) == (4, 1, 1, 0)
    assert ray.follow(100, 5.0) == 1


# SkyServe ----------------------------------------------------------------------------------------------


def test_skyserve_needs_the_wish_in_enough_ticks_running() -> None:
    """Up after int(300 / 20) = 15 ticks, down after 60; a tick without the wish starts anew."""
    sky = SkyServe(target_qps_per_replica=1)
    ups = [sky.follow(3.0, 20) for _ in range(15)]
    assert ups == [1] * 14 + [3]

    downs = [sky.follow(1.0, 20) for _ in range(59)] + [sky.follow(3.0, 20)]
    assert set(downs) == {3}
    assert [sky.follow(1.0, 20) for _ in range(60)][-2:] == [3, 1]


def test_skyserve_leaves_zero_at_once() -> None:
    """A target of 0 takes the new one in its next tick, which comes every 5 s."""
    sky = SkyServe(target_qps_per_replica=1, min_replicas=0)

    assert sky.follow(2.0, 5) == 2
    assert sky.idle_interval_s == 5


def test_skyserve_covers_missing_spot_with_on_demand() -> None:
    """Four wanted, one more on spot, one always on demand: spot 4; with 1 spot ready, 3 more on demand."""
    sky = SkyServe(target_qps_per_replica=1, min_replicas=4, spot=SpotMix(1, 1))

    assert sky.decide(look(0, ready=2, ready_by_pool=(1, 1))) == (1 + 3, 4)
    assert sky.decide(look(20, ready=5, ready_by_pool=(1, 4))) == (1, 4)


# Ours --------------------------------------------------------------------------------------------------


def test_the_seed_block_is_read_as_written() -> None:
    """Milliseconds, seconds and minutes are understood; anything else is refused in one line."""
    assert read_scale_up("p95_latency > 800ms") == Trigger("latency", 0.95, 0.8)
    assert read_scale_up("p99_wait > 2 s") == Trigger("wait", 0.99, 2.0)
    assert read_scale_up("queue > 3") == Trigger("queue", 0.0, 3.0)
    assert (read_scale_down("idle > 60s"), read_scale_down("idle > 2m")) == (60, 120)
    for text in ("p95_latency > 800", "queue > 3s", "cost > 5"):
        with pytest.raises(BadInputError, match="is not understood"):
            read_scale_up(text)


def seed_block(**changes: object) -> AgentAutoscale:
    wanted = {"up": read_scale_up("p95_latency > 800ms"), "idle_s": 60.0, "max_replicas": 5, **changes}
    return AgentAutoscale(**wanted)  # type: ignore[arg-type]


def slow(now: float, count: int, seconds: float) -> tuple[tuple[float, float, float], ...]:
    return tuple((now - 1, seconds, 0.0) for _ in range(count))


def test_the_seed_block_adds_one_after_three_ticks_over_the_limit() -> None:
    """Twenty answers of a second: one more at the third tick, and then three ticks again."""
    policy = seed_block()
    found = [
        policy.decide(look(now, ready=1, in_system=1, finished_last=slow(now, 20, 1.0)))
        for now in (0, 5, 10, 15)
    ]

    assert found == [1, 1, 2, 1]


def test_the_seed_block_says_nothing_of_few_answers_or_old_ones() -> None:
    """Nineteen answers, or twenty that are older than a minute, break no limit."""
    few, old = seed_block(), seed_block()
    for now in (0, 5, 10, 15):
        assert few.decide(look(now, in_system=1, finished_last=slow(0, 19, 1.0))) == 1
        assert old.decide(look(now, in_system=1, finished_last=slow(now - 60, 20, 1.0))) == 1


def test_the_seed_block_decides_nothing_while_a_replica_starts_and_up_wins() -> None:
    """One action in flight; when idle and over the limit at once, up wins."""
    policy = seed_block(exact=Exact(breaches=1))
    assert policy.decide(look(0, ready=1, starting=1, in_system=1, finished_last=slow(0, 20, 1.0))) == 2
    for now in range(5, 70, 5):
        policy.decide(look(now, ready=2, in_system=0))

    assert policy.decide(look(70, ready=2, in_system=0, finished_last=slow(70, 20, 1.0))) == 3


def test_the_seed_block_goes_to_zero_after_a_minute_of_nobody_and_wakes_on_arrival() -> None:
    """At 60 s without a call both replicas go; the first call makes one."""
    policy = seed_block()
    counts = {now: policy.decide(look(now, ready=2, in_system=0)) for now in range(0, 65, 5)}

    assert (counts[50], counts[60]) == (2, 0)
    assert policy.wakes_on_arrival
    assert policy.decide(look(100, ready=0, in_system=3)) == 1


def test_a_task_that_will_be_back_keeps_its_replica() -> None:
    """With profiles a tool that usually takes 90 s holds the replica from half a call before its end on."""
    profiles = Profiles([StepProfile("Bash*", 90.0)])
    policy = seed_block(profiles=profiles, lead_s=30.0)
    counts = {
        now: policy.decide(look(now, ready=1, in_system=0, between=(("Bash", 0.0),)))
        for now in range(0, 120, 5)
    }

    assert counts[60] == counts[90] == counts[115] == 1
    assert profiles.coming((("Bash", 0.0), ("Read", 0.0)), now=59.0, lead_s=30.0) == 0
    assert profiles.coming((("Bash", 0.0), ("Read", 0.0)), now=60.0, lead_s=30.0) == 1
    assert profiles.coming((("Bash", 0.0),), now=181.0, lead_s=30.0) == 0


def test_the_first_profile_that_matches_holds() -> None:
    """Overrides by step name stand in their order; a measured name with a star in it matches only itself."""
    profiles = Profiles([StepProfile("Bash", 5.0), StepProfile("B*", 50.0)])
    (measured,) = measure_profiles(["a*", "a*", "a*"], [1.0, 2.0, 9.0])

    assert [profiles.usual_s(name) for name in ("Bash", "Build", "Read")] == [5.0, 50.0, None]
    assert (Profiles([measured]).usual_s("a*"), Profiles([measured]).usual_s("ab")) == (2.0, None)


def test_prewarming_has_the_replica_ready_when_the_tool_ends() -> None:
    """A cold start of 30 s and a tool of 300 s: with profiles the second call waits for nobody."""
    cold = ColdStart(Delay(30, 30))
    load = made(
        [Step(0, 0, 100, 110, 10, is_served=True), Step(0, 0, 110, 410, 300, is_served=False),
         Step(0, 0, 410, 420, 10, is_served=True)]
    )  # fmt: skip
    warm = Prewarm(Profiles([StepProfile("tool", 300.0)]), cold_start_s=30, call_s=10, max_replicas=1)
    run = simulate(load, warm, pool(cold_start=cold))
    late = simulate(load, QueueLength(max_replicas=1), pool(cold_start=cold))

    assert run.begun_s[2] - run.arrived_s[2] == 0
    assert run.replicas.cold_starts == 2
    assert late.begun_s[2] - late.arrived_s[2] == 30


def test_queue_length_adds_one_over_the_target_and_takes_one_when_the_rest_has_room() -> None:
    """Two wait at one replica: one more. Nobody waits and one of two would do: one fewer after a minute."""
    policy = QueueLength(target=1)

    assert policy.decide(look(0, ready=1, in_system=3)) == 2
    assert policy.decide(look(10, ready=1, starting=1, in_system=4)) == 2
    assert policy.decide(look(20, ready=2, in_system=1)) == 2
    assert policy.decide(look(79, ready=2, in_system=1)) == 2
    assert policy.decide(look(80, ready=2, in_system=1)) == 1
    assert policy.decide(look(90, ready=1, in_system=0)) == 1


def test_token_rate_divides_tokens_per_second_by_what_a_replica_does() -> None:
    """6,500 tokens a second at 2,000 per replica are four; within 10 % nothing changes."""
    policy = TokenRate(tokens_per_s_per_replica=2_000, window_s=10, down_window_s=0)
    policy.decide(look(0, ready=1, tokens=0.0))

    assert policy.decide(look(10, ready=1, tokens=65_000.0)) == 4
    assert policy.decide(look(20, ready=4, tokens=65_000.0 + 76_000.0)) == 4
    assert policy.decide(look(30, ready=4, tokens=141_000.0 + 30_000.0)) == 2


def test_a_fixed_number_and_a_recorded_line_are_what_they_are() -> None:
    """The line holds each count until the next; after its end nothing is recorded, so nothing changes."""
    line = RecordedLine([(0.0, 2), (10.0, 3), (50.0, 0)])

    assert FixedCount(3).decide(look(5)) == 3
    assert [line.decide(look(now)) for now in (0, 9.9, 10, 49, 50, 90)] == [2, 2, 3, 3, 3, 3]


def test_a_policy_scales_pools_in_their_order() -> None:
    """Three wanted with two owned: the third is taken from the second pool."""
    fleet = Fleet((Pool("own", most=2), Pool("spot", cold_start=ColdStart(Delay(0, 0)))))
    run = simulate(arrivals([1], [1]), FixedCount(3), fleet)

    assert run.replicas.pool == [0, 0, 1]
