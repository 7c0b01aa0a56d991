"""What must hold of every ledger, whoever made up the fleets."""

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_bench import Bench, open_bench
from ledger_world import World, random_world

SEEDS = st.integers(0, 1 << 32)
ZONES = st.sampled_from(["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham", "Europe/Berlin"])
COSTS = ("gpu_cost_usd", "idle_cost_usd", "total_cost_usd")
few = settings(max_examples=2, deadline=None)


@contextmanager
def _computed(world: World) -> Iterator[Bench]:
    with TemporaryDirectory() as folder, open_bench(Path(folder)) as bench:
        bench.put(world)
        bench.compute(world)
        assert bench.laws() == []
        yield bench


def _world(seed: int, size: int = 2) -> World:
    return reduce(World.plus, (random_world(seed + place, 7 * place) for place in range(size)))


def _priced(world: World) -> World:
    """Give every fleet one price for all of time; rows without a price would hide what is asked here."""
    return replace(world, fleets=[replace(fleet, prices=[(0, 1 << 62, 2_000_003)]) for fleet in world.fleets])


def _spent(bench: Bench, **asked: str) -> dict[str, Decimal]:
    rows = bench.store.report("spend", since_ns=0, **asked).to_pylist()
    return {cost: sum((row[cost] or Decimal(0) for row in rows), Decimal(0)) for cost in COSTS}


@few
@given(SEEDS, ZONES)
def test_days_and_groups_sum_to_the_range(seed: int, zone: str) -> None:
    """In every zone the days sum to the range, and every grouping to the same total, to the last digit."""
    with _computed(_world(seed)) as bench:
        whole = _spent(bench, per="range")
        assert _spent(bench, per="day", zone=zone) == whole
        for group_by in ("deployment", "task", "agent"):
            assert _spent(bench, per="day", zone=zone, group_by=group_by) == whole
        (bill,) = bench.sql("select coalesce(sum(cost_usd), 0) from gpu_ledger")[0]
        assert whole["total_cost_usd"] == bill


@few
@given(SEEDS, st.sampled_from([2, 3, 10]))
def test_a_price_scales_what_it_prices_and_nothing_else(seed: int, factor: int) -> None:
    """One fleet's price times k is its money times k but for rounding; nothing else moves."""
    world = _priced(_world(seed))
    dear = world.fleets[0].name
    fleets = [
        replace(fleet, prices=[(0, 1 << 62, 2_000_003 * factor)]) if fleet.name == dear else fleet
        for fleet in world.fleets
    ]
    with _computed(world) as before, _computed(replace(world, fleets=fleets)) as after:
        for table in ("gpu_ledger", "step_gpu", "task_waits", "concurrency_bands"):
            cheap, costly = _rows(before, table), _rows(after, table)
            assert cheap.keys() == costly.keys()
            for key, usd in cheap.items():
                scale = factor if dear in key else 1
                off = abs(costly[key] - usd * scale) if usd is not None else Decimal(costly[key] is not None)
                assert off <= (scale + 1) * Decimal("3e-12") * (scale > 1), (table, key)


@few
@given(SEEDS)
def test_unknown_prices_stay_unknown(seed: int) -> None:
    """A fleet without a price costs nothing that anyone could name: NULL in every table, and never 0."""
    world = _priced(_world(seed))
    fleets = [replace(world.fleets[0], prices=[]), *world.fleets[1:]]
    with _computed(replace(world, fleets=fleets)) as bench:
        for table in ("gpu_ledger", "step_gpu", "task_waits", "concurrency_bands"):
            for key, usd in _rows(bench, table).items():
                placed = key[-1] > 0
                assert (usd is None) == (world.fleets[0].name in key or _stray(key) or not placed), (
                    table,
                    key,
                )


@few
@given(SEEDS)
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    """Cards, steps, fleets and samples in any order, and samples told twice, give the same rows."""
    world = _world(seed)
    dice = random.Random(seed)
    cards = [
        replace(card, samples=dice.sample(card.samples * 2, 2 * len(card.samples))) for card in world.cards
    ]
    shuffled = replace(
        world,
        cards=dice.sample(cards, len(cards)),
        steps=dice.sample(world.steps, len(world.steps)),
        fleets=dice.sample(world.fleets, len(world.fleets)),
    )
    with _computed(world) as first, _computed(shuffled) as second:
        assert first.outputs() == second.outputs()


def _rows(bench: Bench, table: str) -> dict[tuple[Any, ...], Decimal | None]:
    """Give a table's money by all its other columns, the time last."""
    names = {
        "gpu_ledger": "quarter_ns, gpu_id, deployment, state, cause, provenance",
        "step_gpu": "quarter_ns, deployment, step_id",
        "task_waits": "quarter_ns, deployment, task_id, state, cause",
        "concurrency_bands": "quarter_ns, deployment, band, state",
    }
    rows = bench.sql(f"select {names[table]}, gpu_ns, cost_usd from {table}")  # noqa: S608 - our own names
    found: dict[tuple[Any, ...], Decimal | None] = defaultdict(lambda: None)
    found.update({row[:-1]: row[-1] for row in rows})
    assert len(found) == len(rows)
    return found


def _stray(key: tuple[Any, ...]) -> bool:
    return any(str(part).startswith("stray") for part in key)
