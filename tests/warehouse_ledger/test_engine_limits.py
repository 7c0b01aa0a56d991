"""How many steps a replica serves at once, where its engine says so."""

import json

from ledger_bench import Bench
from ledger_world import QUARTER, Card, Fleet, S, Step, World

T = 20_000 * 86_400 * S
DOLLAR = [(0, 1 << 62, 3_600_000_000)]  # one USD a second


def _world(concurrency: int | None = None) -> World:
    """Two replicas for two quarter-hours; four calls in flight in the first minute of each."""
    steps = []
    for quarter in range(2):
        at = (T + quarter * QUARTER, T + quarter * QUARTER + 60 * S)
        steps += [
            Step(f"t{n}q{quarter}", f"s{n}q{quarter}", "llm", *at, "d", None, at, tokens=None)
            for n in range(4)
        ]
    fleet = Fleet("d", 2, 1, concurrency, [(T, T + 2 * QUARTER)], DOLLAR)
    cards = [Card("h", slot, deployment="d", slot=slot) for slot in range(2)]
    return World(T + 3 * QUARTER, [fleet], cards, steps)


def _tell(bench: Bench, t_ns: int, limit: float, metric: str = "taximeter.engine.max_num_seqs") -> None:
    attributes = {"taximeter.deployment": "d"}
    if metric == "vllm:cache_config_info":
        attributes["max_num_seqs"] = str(int(limit))
    bench.connection.execute(
        "insert into points by name select ? as metric, ?::bigint as t_ns, ?::double as value,"
        " ? as attributes, 'test' as journal, 0 as sequence, 1 as decoder_version",
        [metric, t_ns, limit, json.dumps(attributes)],
    )


def _limits(bench: Bench) -> list[tuple[int, str]]:
    return bench.sql("select concurrency, source from deployment_concurrency order by quarter_ns")[:2]


def test_the_engine_tells_its_limit_and_a_setting_wins(bench: Bench) -> None:
    """Without a setting c is what the engine told last; with one it is the setting."""
    _tell(bench, T + S, 4, "vllm:cache_config_info")
    bench.put(world := _world())
    bench.compute(world)
    assert _limits(bench) == [(4, "the engine's limit")] * 2
    assert bench.sql("select sum(gpu_ns) / 1e9 from gpu_ledger where state = 'serving'") == [(120.0,)]
    bench.compute(_world(2))
    assert _limits(bench) == [(2, "settings")] * 2
    assert bench.sql("select sum(gpu_ns) / 1e9 from gpu_ledger where state = 'serving'") == [(240.0,)]


def test_a_limit_that_is_told_later_computes_its_quarter_hours_again(bench: Bench) -> None:
    """A new limit changes the quarter-hours from when it was told, and none before; as a rebuild has it."""
    _tell(bench, T + S, 4)
    bench.put(world := _world())
    bench.compute(world)
    _tell(bench, T + QUARTER + S, 2)
    bench.compute(world, set(), [])
    assert _limits(bench) == [(4, "the engine's limit"), (2, "the engine's limit")]
    bit_by_bit = bench.outputs()
    bench.empty()
    bench.put(world)
    bench.compute(world)
    assert bench.outputs() == bit_by_bit
    assert bench.laws() == []


def test_of_replicas_that_differ_the_least_counts(bench: Bench) -> None:
    """Two engines of a deployment that tell 8 and 3 are taken for 3, and nonsense for nothing."""
    for limit in (8.0, 3.0, 0.0, -1.0):
        _tell(bench, T + S, limit)
    bench.put(world := _world())
    bench.compute(world)
    assert _limits(bench)[0] == (3, "the engine's limit")
