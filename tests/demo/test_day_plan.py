"""The simulated day as it is planned, before anything is sent."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.demo import settings_text
from collector.demo.cards import SimulatedCards
from collector.demo.day import Day
from collector.demo.fleet import Replica
from collector.demo.gpus import Hosts
from collector.demo.plan import Agent
from collector.demo.story import story
from taximeter import settings as user_settings
from taximeter.clock import NS_PER_S, ManualClock

HOUR_NS = 3600 * NS_PER_S


@pytest.fixture(scope="module")
def day() -> Day:
    return Day(story())


def _sub_agents(agent: Agent) -> list[Agent]:
    return [step for step in agent.steps if isinstance(step, Agent)]


def test_same_seed_makes_the_same_day(day: Day) -> None:
    """Chance comes from the seed alone: another run is the same to the nanosecond, another seed is not."""
    assert Day(story()).tasks == day.tasks
    assert Day(story(), seed=1).tasks != day.tasks


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_day_is_worth_seeing(seed: int | None) -> None:
    """Hundreds of tasks: retries, circles, sub-agents, failed tools, cut answers, and a night in between."""
    day = Day(story()) if seed is None else Day(story(), seed)
    tasks = day.tasks
    calls = [call for task in tasks for call in task.root.calls()]
    tools = [tool for task in tasks for tool in task.root.tools()]
    assert 300 <= len(tasks) <= 600
    assert 60 <= sum(bool(call.failures) for call in calls) <= len(calls) // 5
    assert any(tool.error for tool in tools)
    assert any(call.is_cut for call in calls)
    assert any(tool.work_ns > tool.start_ns for tool in tools)
    assert sum(len(_sub_agents(task.root)) for task in tasks) > 100
    repeated = [
        t for t in tasks if len({tool.arguments for tool in t.root.tools()}) < len(list(t.root.tools()))
    ]
    assert len(repeated) >= 3
    night = [t for t in tasks if 5 * HOUR_NS <= t.root.start_ns < 13 * HOUR_NS]
    assert night == []
    assert all(0 <= t.root.start_ns < t.root.end_ns < day.length_ns for t in tasks)


def test_context_grows_by_what_was_said(day: Day) -> None:
    """Within an agent each prompt holds the prompt and answer before it, unless it was compacted."""
    compacted = 0
    for task in day.tasks:
        calls = [step for step in task.root.steps if not isinstance(step, Agent) and hasattr(step, "model")]
        for before, after in pairwise(calls):
            kept = before.input_tokens + before.output_tokens - before.reasoning_tokens
            grew = after.input_tokens >= kept
            compacted += not grew
            assert grew or before.input_tokens > 30_000
            assert 0 <= after.cache_read_tokens + after.cache_write_tokens <= after.input_tokens
            assert after.start_ns >= before.end_ns
    assert compacted < len(day.tasks) // 10


def test_steps_lie_inside_their_agents(day: Day) -> None:
    """No step starts before its agent or ends after it, and no figure is negative."""

    def check(agent: Agent) -> None:
        for step in agent.steps:
            assert agent.start_ns <= step.start_ns < step.end_ns <= agent.end_ns
            if isinstance(step, Agent):
                check(step)

    for task in day.tasks:
        check(task.root)
        for call in task.root.calls():
            assert call.start_ns <= call.answer_ns < call.answer_ns + call.ttft_ns < call.end_ns
            assert 0 <= call.reasoning_tokens < call.output_tokens


def test_router_fills_one_replica_before_it_wakes_the_next(day: Day) -> None:
    """Two of four replicas are never reached, and no call runs on a replica with a lost card."""
    qwen, llama = day.deployments["qwen-coder"], day.deployments["llama-chat"]
    assert [bool(replica.stretches) for replica in qwen.replicas] == [True, True, False, False]
    lost = llama.replicas[0].lost
    assert lost is not None
    assert llama.replicas[1].stretches
    for replica in llama.replicas[:1]:
        assert all(to_ns <= lost[0] or from_ns >= lost[1] for from_ns, to_ns in replica.stretches)
    for task in day.tasks:
        for call in task.root.calls():
            assert (call.replica is None) == (call.model.deployment is None)


@given(
    pieces=st.lists(st.tuples(st.integers(0, 500), st.integers(1, 80)), max_size=30),
    until=st.lists(st.integers(-50, 700), min_size=1, max_size=20),
)
@settings(max_examples=100, deadline=None)
def test_worked_time_is_the_length_of_the_union(pieces: list[tuple[int, int]], until: list[int]) -> None:
    """However calls overlap, a replica worked exactly while at least one of them ran."""
    replica = Replica(None)
    for start, length in sorted(pieces):
        replica.take(start, start + length)
    busy = {t for start, length in pieces for t in range(start, start + length)}
    for t in until:
        assert replica.worked_ns(t) == sum(moment < t for moment in busy)


def test_cards_are_busy_exactly_while_their_replica_works(day: Day) -> None:
    """A card is above zero if and only if a call ran in the period, and its power adds up to its energy."""
    deployment = day.deployments["qwen-coder"]
    served = [
        (call.answer_ns, call.end_ns)
        for task in day.tasks
        for call in task.root.calls()
        if (call.model.deployment, call.replica) == ("qwen-coder", 0)
    ]
    rng = random.Random(5)
    for _ in range(1000):
        now_ns = rng.randrange(HOUR_NS, day.length_ns)
        cards = SimulatedCards(deployment, ManualClock(now_ns), 0, 30)
        ran = any(from_ns < now_ns and to_ns > now_ns - 30 * NS_PER_S for from_ns, to_ns in served)
        assert (cards.utilization(0).gpu_percent > 0) == ran
        assert cards.utilization(0) == cards.utilization(1)
        assert cards.utilization(0).gpu_percent <= 100
        assert cards.utilization(6).gpu_percent == 0
        before = SimulatedCards(deployment, ManualClock(now_ns - 30 * NS_PER_S), 0, 30)
        joules = (cards.energy_mj(0) - before.energy_mj(0)) / 1000
        assert joules == pytest.approx(cards.power_mw(0) / 1000 * 30, abs=0.1)


def test_samples_tell_the_story_of_every_card(day: Day) -> None:
    """The forgotten card holds nothing, the lost one is down for its hour, all others are up all day."""
    clock = ManualClock(0)
    hosts = Hosts(story(), day.deployments, clock, 0, 30)
    for _ in range(2880):
        clock.sleep(30)
        hosts.sample()
    samples = [sample for of_host in hosts.pending.values() for sample in of_host]
    down = [s for s in samples if s.metric == "up" and s.value == 0]
    lost = day.deployments["llama-chat"]
    assert {s.card.uuid for s in down} == {lost.fleet.uuids[0]}
    assert len(down) in (120, 121)
    forgotten = day.deployments["notebook"].fleet.uuids[0]
    held = {s.value for s in samples if s.metric == "processes" and s.card.uuid == forgotten}
    used = {
        s.value for s in samples if s.metric in ("util_ratio", "memory_used_mib") and s.card.uuid == forgotten
    }
    assert (held, used) == ({0}, {0})
    assert len({s.card.uuid for s in samples}) == 11
    assert sum(s.metric == "up" for s in samples) == 11 * 2880


def test_settings_are_those_of_the_story(tmp_path: Path) -> None:
    """The settings can be read, price every card by simulated prices, and leave real cards alone."""
    file = tmp_path / "demo.yaml"
    file.write_text(settings_text())
    values = user_settings.load(file)
    assert values.collector.nvml == "off"
    assert values.warehouse.sample_interval_s == story().sample_interval_s
    uuids = []
    for deployment in values.deployments:
        assert deployment.gpus is not None
        assert deployment.gpus.price_source == "demo price list, simulated"
        assert deployment.gpus.usd_per_gpu_hour
        assert len(deployment.gpus.uuids) == deployment.gpus.count
        uuids += deployment.gpus.uuids
    assert len(set(uuids)) == 11
