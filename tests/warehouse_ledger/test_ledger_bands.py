"""What the ledger would hold had a replica served half or twice as many steps at once."""

from collections import defaultdict
from dataclasses import replace
from functools import reduce

from ledger_bench import Bench
from ledger_world import Card, Fleet, S, Step, World, random_world
from oracle import Oracle

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]  # one USD a second
BANDS = {"half": lambda c: max(1, c // 2), "double": lambda c: 2 * c}


def _walked(world: World, band: str) -> dict[tuple[int, str, str], tuple[int, int | None]]:
    """Walk the world with the band's concurrency: ns and 1e-12 USD by (quarter, deployment, state)."""
    fleets = [replace(fleet, concurrency=BANDS[band](fleet.concurrency or 1)) for fleet in world.fleets]
    books = Oracle(replace(world, fleets=fleets)).walk()
    owner = {card.gpu_id: card.deployment for card in world.cards}
    unpriced = {(quarter, owner[gpu]) for quarter, gpu in books.unpriced}
    time: dict[tuple[int, str, str], int] = defaultdict(int)
    money: dict[tuple[int, str, str], int] = defaultdict(int)
    for (quarter, gpu, state, _, _), ns in books.ns.items():
        if owner[gpu] and ns:
            time[quarter, owner[gpu] or "", state] += ns
    for (quarter, gpu, state, _, _), spent in books.money.items():
        money[quarter, owner[gpu] or "", state] += spent
    return {
        key: (ns, None if key[:2] in unpriced else (money[key] + 1_800_000) // 3_600_000)
        for key, ns in time.items()
    }


def test_bands_equal_a_walk_with_that_concurrency(bench: Bench) -> None:
    """Half and double are what the oracle finds when it is told half and twice the concurrency."""
    worlds = [random_world(seed, seed) for seed in range(60)]
    for world in worlds:
        for fleet in world.fleets:
            fleet.concurrency = fleet.concurrency or 3
    bench.put(whole := reduce(World.plus, worlds))
    bench.compute(whole)
    assert bench.laws() == []
    for band in BANDS:
        told = bench.sql(
            "select band, quarter_ns, deployment, state, gpu_ns, cost_usd from concurrency_bands"
        )
        rows = [row[1:] for row in told if row[0] == band]
        found = {row[:3]: (row[3], None if row[4] is None else int(row[4].scaleb(12))) for row in rows}
        expected: dict[tuple[int, str, str], tuple[int, int | None]] = {}
        for world in worlds:
            world.now = whole.now
            expected |= _walked(world, band)
        assert found == expected


def _waste(bench: Bench, concurrency: int) -> dict[tuple[str, str | None], tuple[float, float, float]]:
    """Four cards for 100 s: two tasks at once call, use two tools for 20 s, and call."""
    steps = [
        step
        for task in ("a", "b")
        for step in (
            _llm(task, 1, 0, 10),
            Step(task, f"{task}2", "tool", T + 10 * S, T + 25 * S, tool="Bash"),
            Step(task, f"{task}3", "tool", T + 25 * S, T + 30 * S, tool="Read"),
            _llm(task, 4, 30, 40),
        )
    ]
    fleet = Fleet("d", 4, 1, concurrency, [(T, T + 100 * S)], DOLLAR)
    cards = [Card("h", slot, deployment="d", slot=slot) for slot in range(4)]
    bench.put(world := World(T + 900 * S, [fleet], cards, steps))
    bench.compute(world)
    assert bench.laws() == []
    rows = bench.store.report("idle_waste", since_ns=0).to_pylist()
    return {
        (row["cause"], row["tool"]): tuple(
            float(row[name]) for name in ("cost_usd", "cost_low_usd", "cost_high_usd")
        )
        for row in rows
    }


def _llm(task: str, number: int, start: int, end: int) -> Step:
    at = (T + start * S, T + end * S)
    return Step(task, f"{task}{number}", "llm", *at, "d", None, at)


def test_waste_is_shown_with_half_and_twice_the_concurrency(bench: Bench) -> None:
    """With c = 2 two waiting tasks keep one card, with c = 1 two: the waits cost 20 to 40 USD."""
    waste = _waste(bench, 2)
    assert waste["tool_wait", "Bash"] == (15, 15, 30)
    assert waste["tool_wait", "Read"] == (5, 5, 10)
    assert waste["spare", None] == (120, 80, 120)
    assert waste["no_task", None] == (240, 240, 240)


def test_unknown_prices_leave_the_band_unknown(bench: Bench) -> None:
    """Where a deployment has no price neither its waste nor the band around it is a number."""
    steps = [_llm("a", 1, 0, 10)]
    fleet = Fleet("d", 2, 1, 1, [(T, T + 100 * S)], [])
    cards = [Card("h", slot, deployment="d", slot=slot) for slot in range(2)]
    bench.put(world := World(T + 900 * S, [fleet], cards, steps))
    bench.compute(world)
    rows = bench.store.report("idle_waste", since_ns=0).to_pylist()
    assert {row["cause"] for row in rows} == {"spare", "no_task"}
    assert all(row[name] is None for row in rows for name in ("cost_usd", "cost_low_usd", "cost_high_usd"))
