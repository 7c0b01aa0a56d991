"""Who was never needed: advice about replicas that are still held, and about no others."""

from typing import Any

from ledger_bench import Bench
from ledger_world import Card, Fleet, S, World

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]
IDLE = {"up": 1.0, "util_ratio": 0.0, "processes": 1.0}
MINUTE = 60 * S


def _need(bench: Bench, minutes_seen: list[int]) -> dict[str, Any]:
    """Sample one card per entry for so many minutes, each second, and ask what was needed."""
    cards = [
        Card("h", number, [(T + second * S, IDLE) for second in range(minutes * 60 + 1)], "d", number)
        for number, minutes in enumerate(minutes_seen)
    ]
    fleet = Fleet("d", len(cards), 1, 1, [], DOLLAR)
    world = World(T + max(minutes_seen) * MINUTE + S, [fleet], cards, [])
    bench.put(world)
    bench.compute(world)
    (row,) = bench.store.report("replica_need").to_pylist()
    return row


def test_a_replica_that_is_held_and_idle_was_never_needed(bench: Bench) -> None:
    """Two idle cards that are still held could both go."""
    row = _need(bench, [20, 20])

    assert (row["replicas"], row["most_needed"], row["never_needed"]) == (2, 0, 2)


def test_a_released_replica_is_not_advised_away_again(bench: Bench) -> None:
    """A card whose samples ended long before the end of the range is no saving any more."""
    row = _need(bench, [1, 40])

    assert (row["replicas"], row["never_needed"]) == (1, 1)
