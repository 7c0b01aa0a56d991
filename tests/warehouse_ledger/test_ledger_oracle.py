"""The SQL against an independent walk of the same rules, on made-up fleets."""

from functools import reduce

import pytest
from ledger_bench import Bench
from ledger_compare import differences
from ledger_world import World, random_world

AT_ONCE = 40


@pytest.mark.parametrize("first", range(0, 200, AT_ONCE))
def test_sql_equals_the_walk_of_the_rules(bench: Bench, first: int) -> None:
    """On random fleets, states, money, shares and waits are those of a plain walk in exact fractions."""
    worlds = [random_world(first + place, place) for place in range(AT_ONCE)]
    bench.put(world := reduce(World.plus, worlds))
    bench.compute(world)
    for place, one in enumerate(worlds):
        one.now = world.now
        assert differences(bench, one) == [], f"seed {first + place}"
    assert bench.laws() == []


def test_random_fleets_reach_every_state_and_cause(bench: Bench) -> None:
    """The made-up fleets are not tame: every state, cause and provenance comes up in them."""
    bench.put(world := reduce(World.plus, (random_world(place, place) for place in range(AT_ONCE))))
    bench.compute(world)
    seen = {
        word for row in bench.sql("select distinct state, cause, provenance from gpu_ledger") for word in row
    }
    assert seen >= {"lost", "serving", "unknown", "stuck", "unattributed", "unloaded", "tool_wait"}
    assert seen >= {
        "between_steps",
        "spare",
        "no_task",
        "Bash",
        "several",
        "orchestrator",
        "other_model",
        "person",
    }
    assert seen >= {"measured", "estimated", "simulated"}
    assert bench.sql("select count(*) > 0 from gpu_timeline where stalled") == [(True,)]
    assert bench.sql("select count(*) > 0 from unplaced_steps") == [(True,)]
