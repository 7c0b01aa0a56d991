"""Small fleets whose ledger anyone can work out by hand."""

from collections.abc import Iterable

import pytest
from ledger_bench import Bench
from ledger_world import Card, Fleet, S, Step, World

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]  # one USD a second


def _llm(task: str, number: int, start: float, end: float, replica: str | None = None) -> Step:
    at = (T + int(start * S), T + int(end * S))
    return Step(task, f"{task}{number}", "llm", *at, "d", replica, at)


def _tool(task: str, number: int, start: float, end: float, tool: str = "Bash", **more: int | bool) -> Step:
    return Step(task, f"{task}{number}", "tool", T + int(start * S), T + int(end * S), tool=tool, **more)


def _declared(count: int, concurrency: int, steps: Iterable[Step], per_replica: int = 1) -> World:
    fleet = Fleet("d", count, per_replica, concurrency, [(T, T + 100 * S)], DOLLAR)
    cards = [Card("h", slot, deployment="d", slot=slot) for slot in range(count)]
    return World(T + 900 * S, [fleet], cards, list(steps))


def _sampled(samples: list[tuple[float, dict[str, float]]], steps: Iterable[Step] = ()) -> World:
    fleet = Fleet("d", 1, 1, 1, [], DOLLAR)
    card = Card("h", 0, [(T + int(t * S), seen) for t, seen in samples], "d")
    return World(T + 900 * S, [fleet], [card], list(steps))


def _book(bench: Bench, world: World) -> dict[str, float]:
    bench.put(world)
    bench.compute(world)
    assert bench.laws() == []
    return {
        state: float(s)
        for state, s in bench.sql("select state, sum(gpu_ns) / 1e9 from gpu_ledger group by 1")
    }


def _paid(bench: Bench) -> dict[str, float]:
    return {
        step: float(usd) for step, usd in bench.sql("select step_id, sum(cost_usd) from step_gpu group by 1")
    }


def _waited(bench: Bench) -> dict[tuple[str, str, str], float]:
    rows = bench.sql("select task_id, state, cause, sum(cost_usd) from task_waits group by all")
    return {(task, state, cause): float(usd) for task, state, cause, usd in rows}


def test_two_steps_at_once_share_their_card(bench: Bench) -> None:
    """While two steps are in flight on one card each pays half of it; alone a step pays all."""
    _book(bench, _declared(1, 4, [_llm("a", 1, 0, 10), _llm("b", 1, 5, 15)]))
    assert _paid(bench) == {"a1": 7.5, "b1": 7.5}


def test_named_replicas_pay_for_themselves(bench: Bench) -> None:
    """When every step names its replica, a replica with one step costs that step all of it."""
    steps = [_llm("a", 1, 0, 10, "0"), _llm("b", 1, 0, 10, "1"), _llm("c", 1, 0, 10, "1")]
    states = _book(bench, _declared(2, 4, steps))
    assert _paid(bench) == {"a1": 10, "b1": 5, "c1": 5}
    assert states == {"serving": 20, "no_task": 180}


def test_one_waiting_task_never_pays_for_all_idle_cards(bench: Bench) -> None:
    """A task that waits for a tool keeps one replica of eight; the others are spare, then nobody's."""
    steps = [_llm("a", 1, 0, 10), _tool("a", 2, 10, 30), _llm("a", 3, 30, 40)]
    states = _book(bench, _declared(8, 16, steps))
    assert states == {"serving": 20, "tool_wait": 20, "spare": 280, "no_task": 480}
    assert _waited(bench) == {("a", "tool_wait", "Bash"): 20}


def test_parallel_tools_share_one_wait(bench: Bench) -> None:
    """Two tools of a task at once are one wait, split equally between them: union, never the sum."""
    steps = [
        _llm("a", 1, 0, 10),
        _tool("a", 2, 10, 30, "Bash"),
        _tool("a", 3, 20, 30, "Web"),
        _llm("a", 4, 30, 40),
    ]
    states = _book(bench, _declared(1, 1, steps))
    assert states["tool_wait"] == 20
    assert _waited(bench) == {("a", "tool_wait", "Bash"): 15, ("a", "tool_wait", "Web"): 5}


def test_waits_have_their_causes(bench: Bench) -> None:
    """Permission is a person's, an LLM elsewhere is the other model's, nothing at all the orchestrator's."""
    elsewhere = Step("a", "a4", "llm", T + 40 * S, T + 50 * S)
    steps = [
        _llm("a", 1, 0, 10),
        _tool("a", 2, 10, 30, work=5 * S, person=True),
        elsewhere,
        _llm("a", 5, 50, 60),
    ]
    states = _book(bench, _declared(1, 1, steps))
    assert states == {"serving": 20, "tool_wait": 5, "between_steps": 35, "no_task": 40}
    assert _waited(bench) == {
        ("a", "between_steps", "person"): 15,
        ("a", "tool_wait", "Bash"): 5,
        ("a", "between_steps", "orchestrator"): 10,
        ("a", "between_steps", "other_model"): 10,
    }


def test_a_tensor_parallel_group_is_one_replica(bench: Bench) -> None:
    """Both cards of a group serve its step, and the step pays both."""
    states = _book(bench, _declared(4, 1, [_llm("a", 1, 0, 10)], per_replica=2))
    assert states == {"serving": 20, "spare": 20, "no_task": 360}
    assert _paid(bench) == {"a1": 20}


def test_a_step_without_a_card_pays_no_time_and_an_unknown_price(bench: Bench) -> None:
    """A step in flight while nothing is held is unplaced: its seconds are told, its cost is unknown."""
    _book(bench, _declared(1, 1, [_llm("a", 1, 200, 210), _llm("b", 1, 90, 110)]))
    assert bench.sql("select step_id, gpu_ns, cost_usd from step_gpu where step_id = 'a1'") == [
        ("a1", 0, None)
    ]
    assert bench.sql("select sum(step_ns) from unplaced_steps") == [(20 * S,)]
    assert bench.sql("select sum(cost_usd)::double from step_gpu where step_id = 'b1'") == [(10,)]


def test_a_deployment_without_a_price_counts_time_and_no_money(bench: Bench) -> None:
    """Where no price is known cost is null, in the ledger, for the steps and for the waits."""
    world = _declared(1, 1, [_llm("a", 1, 0, 10), _tool("a", 2, 10, 20), _llm("a", 3, 20, 30)])
    world.fleets[0].prices = []
    states = _book(bench, world)
    assert states == {"serving": 20, "tool_wait": 10, "no_task": 70}
    for table in ("gpu_ledger", "step_gpu", "task_waits"):
        assert bench.sql(f"select count(*) > 0, count(cost_usd) from {table}")  # noqa: S608 - the three names above == [(True, 0)]


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        ({"util_ratio": 0.0, "processes": 1.0}, "no_task"),
        ({"util_ratio": 0.0, "processes": 0.0, "memory_used_mib": 0.0}, "unloaded"),
        ({"util_ratio": 0.0, "memory_used_mib": 0.0}, "unloaded"),
        ({"util_ratio": 0.0, "processes": 0.0, "memory_used_mib": 70_000.0}, "no_task"),
        ({"util_ratio": 0.0}, "no_task"),
        ({"util_ratio": 0.6}, "unattributed"),
        ({"util_ratio": 1.0, "power_w": 70.0}, "stuck"),
        ({"util_ratio": 1.0, "power_w": 650.0}, "unattributed"),
        ({"up": 0.0}, "lost"),
        ({"up": 1.0}, "unknown"),
    ],
)
def test_what_a_sample_says(bench: Bench, seen: dict[str, float], state: str) -> None:
    """One kind of sample after another, ten seconds long, with no step anywhere: one state each."""
    assert _book(bench, _sampled([(float(t), seen) for t in range(11)])) == {state: 10}


def test_a_sample_speaks_for_the_time_before_it(bench: Bench) -> None:
    """After a gap of more than three intervals a sample speaks for one interval, the rest is unknown."""
    idle = {"util_ratio": 0.0}
    times = [0.0, 1.0, 4.0, 8.0, 9.0]
    assert _book(bench, _sampled([(t, idle) for t in times])) == {"no_task": 6, "unknown": 3}


def test_a_step_in_a_gap_is_serving_by_estimate(bench: Bench) -> None:
    """A step in flight while samples are missing serves all the same, and the provenance says so."""
    idle = {"util_ratio": 0.9}
    _book(bench, _sampled([(0, idle), (1, idle), (9, idle), (10, idle)], [_llm("a", 1, 0, 10)]))
    assert bench.sql("select state, provenance, gpu_ns / 1e9 from gpu_ledger order by 2") == [
        ("serving", "estimated", 7.0),
        ("serving", "measured", 3.0),
    ]


def test_low_utilization_while_serving_is_stalled(bench: Bench) -> None:
    """A step in flight on a card whose samples are idle still serves, and its time line is marked stalled."""
    _book(bench, _sampled([(float(t), {"util_ratio": 0.0}) for t in range(11)], [_llm("a", 1, 2, 5)]))
    rows = bench.sql(
        "select state, stalled, sum(to_ns - from_ns) / 1e9 from gpu_timeline group by all order by 1"
    )
    assert rows == [("no_task", False, 7.0), ("serving", True, 3.0)]


def test_tolerance_forgives_a_small_offset_only(bench: Bench) -> None:
    """Busy seconds within 0.2 s of a step are its own; a busy second further away is somebody else's."""
    samples = [(float(t), {"util_ratio": 0.9 if 3 <= t <= 5 else 0.0}) for t in range(11)]
    near = _book(bench, _sampled(samples, [_llm("a", 1, 3.25, 3.75)]))
    assert near == {"serving": 0.5, "no_task": 7.5, "unattributed": 2}
    bench.empty()
    nearer = _book(bench, _sampled(samples, [_llm("a", 1, 3.125, 3.875)]))
    assert nearer == {"serving": 0.75, "no_task": 9.25}
    bench.empty()
    assert _book(bench, _sampled(samples, [_llm("a", 1, 2, 5)])) == {"serving": 3, "no_task": 7}


def test_sampled_cards_of_a_sku_take_the_places_of_a_deployment_without_names(bench: Bench) -> None:
    """Without uuids in the settings, sampled cards of the SKU fill a deployment by host and index."""
    world = _declared(3, 1, [])
    world.fleets[0].held = []
    world.cards = [Card("h", n, [(T, {"util_ratio": 0.0}), (T + S, {"util_ratio": 0.0})]) for n in (1, 0)]
    for card in world.cards:
        card.name = "NVIDIA H200"
    world.fleets[0].sku_name = "H200"
    bench.put(world)
    bench.compute(world)
    rows = bench.sql("select gpu_id, deployment, replica, placed_by from gpus order by replica")
    assert rows == [
        ("h/GPU-h-0/0", "d", "0", "sku"),
        ("h/GPU-h-1/1", "d", "1", "sku"),
        ("declared/d/2", "d", "2", "declared"),
    ]
