"""Every dollar of the bill on somebody: what belongs to the fleet is spread, and says so."""

from functools import reduce
from typing import Any

import pytest
from ledger_bench import Bench
from ledger_world import Card, Fleet, S, Step, World, random_world

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]  # one USD a second


def _llm(task: str, start: int, end: int, deployment: str = "d") -> Step:
    at = (T + start * S, T + end * S)
    return Step(task, f"{task}1", "llm", *at, deployment, None, at)


def test_the_fleet_is_spread_in_proportion_to_what_each_paid(bench: Bench) -> None:
    """Of 100 USD task a paid 10 and b 30; the 60 that nobody used are 15 and 45 of theirs."""
    fleet = Fleet("d", 1, 1, 1, [(T, T + 100 * S)], DOLLAR)
    idle = Fleet("quiet", 1, 1, 1, [(T, T + 50 * S)], DOLLAR)
    cards = [Card("h", 0, deployment="d"), Card("i", 0, deployment="quiet")]
    bench.put(world := World(T + 900 * S, [fleet, idle], cards, [_llm("a", 0, 10), _llm("b", 20, 50)]))
    bench.compute(world)
    rows = bench.store.report("fully_loaded", since_ns=0).to_pylist()
    assert [
        (row["deployment"], row["group_key"], row["fleet_cost_usd"], row["loaded_cost_usd"]) for row in rows
    ] == [("d", "b", 45, 75), ("d", "a", 15, 25), ("quiet", None, 50, 50)]
    assert rows[0]["note"] == "the fleet's cost is spread in proportion to what each paid itself"


@pytest.mark.parametrize("group_by", ["task", "all", "agent"])
def test_loaded_and_unknown_cost_are_the_bill(bench: Bench, group_by: str) -> None:
    """On random fleets a deployment's rows sum to its bill to the last digit; unknown is never spread."""
    worlds = [random_world(place, place) for place in range(30)]
    bench.put(whole := reduce(World.plus, worlds))
    bench.compute(whole)
    bills = dict(
        bench.sql(
            "select coalesce(deployment, ''), case when bool_and(cost_usd is not null) then sum(cost_usd) end"
            " from gpu_ledger group by 1"
        )
    )
    told: dict[str, list[dict[str, Any]]] = {}
    for row in bench.store.report("fully_loaded", since_ns=0, group_by=group_by).to_pylist():
        told.setdefault(row["deployment"] or "", []).append(row)
    priced = {name: bill for name, bill in bills.items() if bill is not None}
    assert priced
    for name, bill in priced.items():
        assert bill == sum(
            (row["loaded_cost_usd"] or 0) + (row["unknown_cost_usd"] or 0) for row in told[name]
        ), name
    for name in bills.keys() - priced.keys():
        assert all(row["loaded_cost_usd"] is None for row in told.get(name, []) if row["group_key"]), name
