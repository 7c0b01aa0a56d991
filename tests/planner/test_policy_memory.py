"""What policies remember is what a look at all of it would tell."""

from hypothesis import given
from hypothesis import strategies as st

from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.policies.agent_autoscale import AgentAutoscale, Exact, Trigger
from planner.policies.profiles import Profiles, StepProfile
from planner.policy import Habits, Most, Observation
from planner.simulate import simulate
from planner.testing import look, made
from planner.workload import Step

POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=40)


@given(POINTS, st.integers(0, 12))
def test_the_most_of_a_window_is_the_largest_value_in_it(points: list[tuple[int, int]], length: int) -> None:
    """A window that forgets moot values gives the same as one that keeps all."""
    window, seen, now = Most(length), [], 0
    for gap, value in points:
        now += gap
        seen.append((now, value))
        assert window.add(now, value) == max(v for at, v in seen if at >= now - length)


@given(st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 2)), min_size=1, max_size=120))
def test_the_seed_block_counts_answers_as_a_percentile_would(answers: list[tuple[float, float]]) -> None:
    """One tick over the limit adds a replica exactly where p90 of the last minute's answers is over it."""
    block = AgentAutoscale(
        up=Trigger("latency", 0.9, 1.0), idle_s=1e9, exact=Exact(min_samples=5, breaches=1), max_replicas=99
    )
    told: list[tuple[float, float, float]] = []
    now = 0.0
    for gap, took in answers:
        now += gap
        told.append((now, took, 0.0))
        recent = sorted(one[1] for one in told if one[0] > now - 60)
        is_over = len(recent) >= 5 and recent[-(-9 * len(recent) // 10) - 1] > 1.0
        assert block.decide(look(now, 1, 1, finished_last=told)) == 1 + is_over


@given(st.floats(0, 300), st.floats(1, 100), st.floats(0, 100))
def test_a_step_is_expected_from_its_lead_to_twice_its_usual_time(
    age: float, usual: float, lead: float
) -> None:
    """It comes within the lead, or is late by less than it usually takes (or than the lead)."""
    profiles = Profiles([StepProfile("build", usual)])
    expected = usual - lead <= age <= usual + max(usual, lead)

    assert profiles.coming([("build", 0.0), ("other", 0.0)], age, lead) == expected


class Watching(Habits):
    """Keeps one replica and notes what it sees of tools."""

    name, interval_s, reads = "watching", 1.0, frozenset({"between"})

    def __init__(self) -> None:
        self.seen: dict[float, list[tuple[str, float]]] = {}

    def decide(self, seen: Observation) -> int:
        self.seen[seen.now_s] = list(seen.between)
        return 1


def test_a_policy_sees_a_tool_from_its_begin_to_its_end_and_no_earlier() -> None:
    """A pause before a tool is not the tool, late metrics are late, and nobody sees what is to come."""
    steps = [
        Step(0, 0, 0.0, 2.0, 2.0, is_served=True),
        Step(0, 0, 5.5, 8.5, 3.0, is_served=False),
        Step(0, 0, 9.0, 10.0, 1.0, is_served=True),
    ]
    now, late = Watching(), Watching()
    fleet = Fleet((Pool(cold_start=ColdStart(Delay(0.0, 0.0))),))
    simulate(made(steps), now, fleet)
    simulate(made(steps), late, fleet._replace(scrape_lag_s=2.0))

    told = [("tool", 5.5)]
    assert [at for at, between in now.seen.items() if between == told] == [6.0, 7.0, 8.0]
    assert [at for at, between in late.seen.items() if between == told] == [8.0, 9.0, 10.0]
