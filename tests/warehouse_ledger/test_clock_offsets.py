"""Samplers whose clocks are off: what they measured of it is taken away first."""

import random
from dataclasses import replace
from functools import reduce

import pytest
from ledger_bench import Bench
from ledger_world import QUARTER, Card, Fleet, S, Step, World, random_world

T = 20_000 * 86_400 * S


def _off(card: Card, offset_s: float) -> Card:
    """Tell the same samples by a clock that is that far ahead, and say so in each round."""
    offset_ns = int(offset_s * S)
    return replace(
        card, samples=[(t + offset_ns, seen | {"clock_offset_s": offset_s}) for t, seen in card.samples]
    )


def test_a_measured_offset_changes_no_figure(bench: Bench) -> None:
    """Hosts up to 100 s off, each by its own, give the ledger that right clocks give, to the last digit."""
    worlds = [random_world(5_000 + place, place) for place in range(20)]
    bench.put(right := reduce(World.plus, worlds))
    bench.compute(right)
    expected = bench.outputs()
    bench.empty()
    dice = random.Random(3)
    offsets = {card.host: dice.choice([-100, -3, -0.5, 0, 0.25, 2, 100]) for card in right.cards}
    wrong = replace(right, cards=[_off(card, offsets[card.host]) for card in right.cards])
    bench.put(wrong)
    bench.compute(wrong)
    assert bench.outputs() == expected
    assert bench.laws() == []


@pytest.mark.parametrize(("offset_s", "unattributed_s"), [(None, 5.0), (3.0, 2.0)])
def test_an_offset_that_nobody_measured_is_not_guessed(
    bench: Bench, offset_s: float | None, unattributed_s: float
) -> None:
    """Busy samples 3 s late are somebody else's, unless the sampler said that its clock is ahead."""
    busy = {"util_ratio": 0.9}
    idle = {"util_ratio": 0.0}
    told = {} if offset_s is None else {"clock_offset_s": offset_s}
    samples = [(T + (n + 3) * S, (busy if 10 < n <= 15 else idle) | told) for n in range(60)]
    at = (T + 10 * S, T + 12 * S)
    step = Step("a", "a1", "llm", *at, "d", None, at)
    later = (T + 40 * S, T + 41 * S)
    fleet = Fleet("d", 1, 1, 1, [], [(0, 1 << 62, 3_600_000_000)])
    world = World(T + 600 * S, [fleet], [Card("h", 0, samples, "d")], [step])
    world.steps.append(Step("b", "b1", "llm", *later, "d", None, later))
    bench.put(world)
    bench.compute(world)
    (found,) = bench.sql(
        "select coalesce(sum(gpu_ns) filter (where state = 'unattributed'), 0) / 1e9 from gpu_ledger"
    )[0]
    assert found == unattributed_s


def test_an_offset_that_arrives_late_moves_its_quarter_hour(bench: Bench) -> None:
    """Samples, then the offset of the same quarter-hour: the rows end as a rebuild's."""
    card = Card("h", 0, [(T + n * S, {"util_ratio": 0.9 if n % 7 == 0 else 0.0}) for n in range(1_000)], "d")
    fleet = Fleet("d", 1, 1, 1, [], [(0, 1 << 62, 3_600_000_000)])
    at = (T + 880 * S, T + 920 * S)
    world = World(T + 3 * QUARTER, [fleet], [card], [Step("a", "a1", "llm", *at, "d", None, at)])
    bench.put(world)
    bench.compute(world)
    late = [(T + 100 * S, {"clock_offset_s": 5.0}), (T + 950 * S, {"clock_offset_s": 6.0})]
    both = replace(world, cards=[replace(card, samples=card.samples + late)])
    bench.put(both)
    bench.compute(both, set(), [(T, T + 2 * QUARTER)])
    bit_by_bit = bench.outputs()
    bench.empty()
    bench.put(both)
    bench.compute(both)
    assert bench.outputs() == bit_by_bit
    assert bench.laws() == []
