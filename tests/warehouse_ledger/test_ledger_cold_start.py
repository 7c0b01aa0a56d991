"""A card onto which a model is loaded is cold: paid, and able to serve nobody."""

from ledger_bench import Bench
from ledger_world import Card, Fleet, S, Step, World

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]  # one USD a second
EMPTY = {"util_ratio": 0.0, "processes": 0.0, "memory_used_mib": 0.0}


def _loading(mib: float) -> dict[str, float]:
    return {"util_ratio": 0.0, "processes": 1.0, "memory_used_mib": mib}


def _served(start: float, end: float, replica: str | None = None) -> Step:
    at = (T + int(start * S), T + int(end * S))
    return Step("a", f"a{start}", "llm", *at, "d", replica, at)


def _states(
    bench: Bench, samples: list[dict[str, float]], steps: list[Step] | None = None
) -> dict[str, float]:
    """Give seconds by state of one card that was sampled every second from 0 on."""
    card = Card("h", 0, [(T + number * S, seen) for number, seen in enumerate(samples)], "d")
    world = World(T + 1_800 * S, [Fleet("d", 1, 1, 1, [], DOLLAR)], [card], steps or [])
    bench.put(world)
    bench.compute(world)
    assert bench.laws() == []
    rows = bench.sql("select state, sum(gpu_ns) / 1e9 from gpu_ledger group by 1")
    return {state: float(seconds) for state, seconds in rows}


def test_a_card_is_cold_until_its_memory_rests(bench: Bench) -> None:
    """30 s of growing memory and 60 s of rest are a cold start; then the card waits for a task."""
    growing = [_loading(2_000 * second) for second in range(1, 31)]
    found = _states(bench, [EMPTY] * 11 + growing + [_loading(60_000)] * 100)
    assert found == {"unloaded": 10, "cold_start": 90, "no_task": 40}


def test_the_first_step_that_ends_proves_it_warm(bench: Bench) -> None:
    """A step that came to its end shows that the model is there, long before memory has rested."""
    found = _states(bench, [EMPTY] * 11 + [_loading(60_000)] * 60, [_served(12, 20)])
    assert found == {"unloaded": 10, "cold_start": 10, "no_task": 50}


def test_a_step_that_names_the_cold_replica_is_served_by_it(bench: Bench) -> None:
    """Who says which replica worked is believed: that is serving."""
    found = _states(bench, [EMPTY] * 11 + [_loading(60_000)] * 60, [_served(12, 20, "0")])
    assert found == {"unloaded": 10, "cold_start": 2, "serving": 8, "no_task": 50}


def test_a_card_that_was_full_before_anybody_looked_is_not_cold(bench: Bench) -> None:
    """An agent that starts beside a running server has seen no cold start."""
    assert _states(bench, [_loading(60_000)] * 61) == {"no_task": 60}


def test_a_load_that_fails_ends_with_the_memory(bench: Bench) -> None:
    """A process that dies while it loads leaves an empty card."""
    found = _states(bench, [EMPTY] * 11 + [_loading(9_000)] * 20 + [EMPTY] * 20)
    assert found == {"unloaded": 10 + 20, "cold_start": 20}


def test_a_load_that_never_rests_is_cold_for_a_quarter_hour_at_most(bench: Bench) -> None:
    """What goes on for longer is no start any more."""
    moving = [_loading(3_000 + 5_000 * (second % 2)) for second in range(1_000)]
    found = _states(bench, [EMPTY] * 11 + moving)
    assert found["cold_start"] == 900
