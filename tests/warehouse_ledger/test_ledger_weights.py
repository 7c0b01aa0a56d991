"""Steps that share a card by the work of their tokens instead of equally."""

import random
from functools import reduce

from ledger_bench import Bench
from ledger_compare import differences
from ledger_world import Card, Fleet, S, Step, World, random_world

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]  # one USD a second


def _llm(name: str, tokens: tuple[int, int, int] | None, start: int = 0, end: int = 10) -> Step:
    at = (T + start * S, T + end * S)
    return Step("a", name, "llm", *at, "d", None, at, tokens=tokens)


def _paid(bench: Bench, steps: list[Step]) -> dict[str, float]:
    fleet = Fleet("d", 1, 1, 8, [(T, T + 10 * S)], DOLLAR)
    bench.put(world := World(T + 900 * S, [fleet], [Card("h", 0, deployment="d")], steps, weights="tokens"))
    bench.compute(world)
    assert bench.laws() == []
    return {name: float(usd) for name, usd in bench.sql("select step_id, cost_usd from step_gpu")}


def test_steps_pay_by_uncached_cached_and_answered_tokens(bench: Bench) -> None:
    """Ten for a token of the prompt, one for a cached one, forty for one of the answer: 100 against 300."""
    assert _paid(bench, [_llm("a1", (100, 0, 0)), _llm("a2", (600, 400, 15))]) == {"a1": 2.5, "a2": 7.5}


def test_unknown_usage_weighs_as_the_median(bench: Bench) -> None:
    """A step that tells no tokens weighs as the middle one of those that do; alone it pays all."""
    steps = [_llm("a1", (100, 0, 0)), _llm("a2", (300, 0, 0)), _llm("a3", (300, 0, 0)), _llm("a4", None)]
    assert _paid(bench, steps) == {"a1": 1, "a2": 3, "a3": 3, "a4": 3}
    bench.empty()
    assert _paid(bench, [_llm("a1", None, 0, 5), _llm("a2", None)]) == {"a1": 2.5, "a2": 7.5}


def test_weighted_shares_equal_a_walk_of_the_rules(bench: Bench) -> None:
    """On random fleets and tokens, named replicas or not, every share is that of the oracle."""
    dice = random.Random(7)
    worlds = [random_world(3_000 + place, place) for place in range(40)]
    for world in worlds:
        for step in world.steps:
            whole = dice.choice([0, 1, 500, 30_000])
            told = (whole, dice.choice([0, whole // 2, whole]), dice.choice([0, 3, 900]))
            step.tokens = dice.choice([None, told, told])
    whole_world = reduce(World.plus, worlds)
    whole_world.weights = "tokens"
    bench.put(whole_world)
    bench.compute(whole_world)
    for place, one in enumerate(worlds):
        one.now, one.weights = whole_world.now, "tokens"
        assert differences(bench, one) == [], f"seed {3_000 + place}"
    assert bench.laws() == []
