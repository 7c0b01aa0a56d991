"""What is computed bit by bit, in any order, equals what is computed at once."""

import random
from dataclasses import replace
from functools import reduce

import pytest
from ledger_bench import Bench
from ledger_world import QUARTER, Card, Fleet, S, Step, World, random_world


@pytest.mark.parametrize("seed", range(4))
def test_bits_in_any_order_equal_all_at_once(bench: Bench, seed: int) -> None:
    """Tasks and samples arrive late and out of order while time passes; the rows end as a rebuild's."""
    dice = random.Random(seed)
    worlds = [random_world(1_000 + 10 * seed + place, place) for place in range(4)]
    whole = reduce(World.plus, worlds)
    turn = {step.task: dice.randrange(4) for step in whole.steps}
    chunk = {card.gpu_id: [dice.randrange(4) for _ in card.samples] for card in whole.cards}
    before: World | None = None
    for number in range(4):
        part = _part(whole, turn, chunk, number)
        bench.put(part)
        bench.compute(part, *(_changes(whole, turn, chunk, number, before) if before else (None, None)))
        before = part
    bit_by_bit = bench.outputs()
    bench.empty()
    bench.put(whole)
    bench.compute(whole)
    assert bench.laws() == []
    assert bit_by_bit == bench.outputs()


def _part(whole: World, turn: dict[str, int], chunk: dict[str, list[int]], number: int) -> World:
    cards = [
        replace(
            card, samples=[s for s, n in zip(card.samples, chunk[card.gpu_id], strict=True) if n <= number]
        )
        for card in whole.cards
    ]
    steps = [step for step in whole.steps if turn[step.task] <= number]
    return replace(whole, now=whole.now - (3 - number) * QUARTER // 3, cards=cards, steps=steps)


def _changes(
    whole: World, turn: dict[str, int], chunk: dict[str, list[int]], number: int, before: World
) -> tuple[set[str], list[tuple[int, int]]]:
    tasks = {task for task, n in turn.items() if n == number}
    times = [
        t
        for card in whole.cards
        for (t, _), n in zip(card.samples, chunk[card.gpu_id], strict=True)
        if n == number
    ]
    quarters = {t // QUARTER * QUARTER for t in times}
    return tasks, [(q, q + QUARTER) for q in quarters] + [(before.now, whole.now)]


def _hour() -> World:
    start = 20_000 * 86_400 * S
    steps = [
        Step("a", "a1", "llm", start + 10 * S, start + 20 * S, "d", busy=(start + 10 * S, start + 20 * S)),
        Step("a", "a2", "tool", start + 20 * S, start + 3_620 * S),
        Step(
            "a",
            "a3",
            "llm",
            start + 3_620 * S,
            start + 3_630 * S,
            "d",
            busy=(start + 3_620 * S, start + 3_630 * S),
        ),
    ]
    fleet = Fleet("d", 1, held=[(start, start + 4 * 3_600 * S)], prices=[(0, 1 << 62, 1_000_000)])
    return World(start + 4_000 * S, [fleet], [Card("h", 0, deployment="d")], steps)


def test_a_long_tool_turns_idle_time_into_waiting_once_it_is_known(bench: Bench) -> None:
    """Before the tool and the step after it arrive its time is no task's; then all of it is tool_wait."""
    whole = _hour()
    early = replace(whole, steps=whole.steps[:1], now=whole.now - 380 * S)
    bench.put(early)
    bench.compute(early)
    held = (early.now - early.steps[0].start + 10 * S) / S
    assert dict(_states(bench)) == {"serving": 10, "no_task": held - 10}
    bench.put(whole)
    bench.compute(whole, {"a"}, [(early.now, whole.now)])
    assert dict(_states(bench)) == {"serving": 20, "tool_wait": 3_600, "no_task": 380}


def test_a_task_that_is_taken_back_leaves_nothing(bench: Bench) -> None:
    """Spans that move to another task leave no time or money with the old one."""
    whole = _hour()
    bench.put(whole)
    bench.compute(whole)
    moved = replace(whole, steps=[replace(step, task="b") for step in whole.steps])
    bench.put(moved)
    bench.compute(moved, {"a", "b"}, [])
    assert bench.sql(
        "select distinct task_id from step_gpu union select distinct task_id from task_waits"
    ) == [("b",)]
    assert dict(_states(bench)) == {"serving": 20, "tool_wait": 3_600, "no_task": 380}


def test_a_new_price_reprices_what_was_held(bench: Bench) -> None:
    """A price that changes after the fact changes the money of every quarter-hour it covers, and no time."""
    whole = _hour()
    bench.put(whole)
    bench.compute(whole)
    dearer = replace(whole, fleets=[replace(whole.fleets[0], prices=[(0, 1 << 62, 2_000_000)])])
    bench.put(dearer)
    bench.compute(dearer, set(), [])
    assert bench.sql("select round(sum(cost_usd), 6)::varchar, sum(gpu_ns) from gpu_ledger") == [
        ("2.222222", 4_000 * S)
    ]
    assert bench.laws() == []


def test_released_after_a_silence(bench: Bench) -> None:
    """A silence of released_after is unknown time that is held; a longer one is no time at all."""
    start = 20_000 * 86_400 * S
    for silence, held in ((900 * S, 910.0), (901 * S, 10.0)):
        times = [start + n * S for n in range(6)] + [start + 5 * S + silence + n * S for n in range(6)]
        card = Card("h", 0, [(t, {"util_ratio": 0.0}) for t in times])
        world = World(start + 3_600 * S, cards=[card])
        bench.empty()
        bench.put(world)
        bench.compute(world)
        assert bench.sql("select sum(gpu_ns) / 1e9 from gpu_ledger") == [(held,)]
        assert bench.laws() == []


def _states(bench: Bench) -> list[tuple[str, float]]:
    return [
        (state, s) for state, s in bench.sql("select state, sum(gpu_ns) / 1e9 from gpu_ledger group by state")
    ]
