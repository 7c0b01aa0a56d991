"""Says where the ledger of the SQL and the oracle's differ; nothing where they agree."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ledger_bench import Bench
from ledger_world import Card, World
from oracle import Books, Oracle
from oracle_money import bills

SLACK = 2  # of 1e-12 USD, or ns: rounding hands a rest to other claims than exact fractions would


def differences(bench: Bench, world: World) -> list[str]:
    """Compare every figure of a computed world with the oracle's; one line per difference."""
    books = Oracle(world).walk()
    mine = {card.gpu_id for card in world.cards}
    fleets = {fleet.name for fleet in world.fleets}
    return [
        *_compare_ledger(bench, books, mine),
        *_compare_claims(bench, books, fleets),
        *_compare_unplaced(bench, books, fleets),
        *_compare_timeline(bench, books, world.cards),
    ]


def _compare_ledger(bench: Bench, books: Books, mine: set[str]) -> Iterable[str]:
    rows = bench.sql("select quarter_ns, gpu_id, state, cause, provenance, gpu_ns, cost_usd from gpu_ledger")
    found = {row[:5]: (row[5], _pico(row[6])) for row in rows if row[1] in mine}
    money = bills(books)
    expected = {cell: (ns, money[cell]) for cell, ns in books.ns.items() if ns}
    yield from _unequal("gpu_ledger", found, expected)


def _compare_claims(bench: Bench, books: Books, fleets: set[str]) -> Iterable[str]:
    steps = bench.sql("select quarter_ns, deployment, step_id, gpu_ns, cost_usd from step_gpu")
    waits = bench.sql(
        "select quarter_ns, deployment, state, task_id, cause, gpu_ns, cost_usd from task_waits"
    )
    found: dict[Any, tuple[int, int | None]] = {
        (q, d, "serving", s, None): (ns, _pico(usd)) for q, d, s, ns, usd in steps if d in fleets
    }
    found.update({(q, d, s, t, c): (ns, _pico(usd)) for q, d, s, t, c, ns, usd in waits if d in fleets})
    unknown = _unknown_cells(books)
    expected = {
        claim: (ns, None if claim[:3] in unknown or not ns else books.claim_money[claim] / 3_600_000)
        for claim, ns in books.claim_ns.items()
        if ns or claim[2] == "serving"
    }
    cells = Counter((quarter, _deployment(gpu)) for quarter, gpu, *_ in books.ns)
    for claim in found.keys() | expected.keys():
        slack = SLACK + cells[claim[:2]]  # each of a deployment's states is rounded before its claims are
        got, want = found.get(claim), expected.get(claim)
        if (
            got is None
            or want is None
            or not _close(got[0], want[0], SLACK)
            or not _close(got[1], want[1], slack)
        ):
            yield f"{claim}: SQL {got}, oracle {want}"


def _unknown_cells(books: Books) -> set[tuple[int, str, str]]:
    cells = set()
    for quarter, gpu, state, _, _ in books.ns:
        if (quarter, gpu) in books.unpriced and books.ns:
            cells.add((quarter, _deployment(gpu), state))
    return cells


def _deployment(gpu: str) -> str:
    parts = gpu.split("/")
    return parts[1] if parts[0] == "declared" else parts[0].partition("-")[2]


def _compare_unplaced(bench: Bench, books: Books, fleets: set[str]) -> Iterable[str]:
    rows = bench.sql("select quarter_ns, deployment, step_ns from unplaced_steps")
    found = {(q, d): ns for q, d, ns in rows if d in fleets}
    yield from _unequal("unplaced", found, {key: ns for key, ns in books.unplaced.items() if ns})


def _compare_timeline(bench: Bench, books: Books, cards: list[Card]) -> Iterable[str]:
    rows = bench.sql("select gpu_id, from_ns, to_ns, state from gpu_timeline order by gpu_id, from_ns")
    found: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for gpu, start, end, state in rows:
        found[gpu].append((start, end, state))
    for card in cards:
        got, want = _joined(found[card.gpu_id]), _joined(books.timeline[card.gpu_id])
        if got != want:
            yield f"timeline of {card.gpu_id}: SQL {got}, oracle {want}"


def _joined(stretches: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    joined: list[tuple[int, int, str]] = []
    for start, end, state in sorted(stretches):
        if joined and joined[-1][1:] == (start, state):
            joined[-1] = (joined[-1][0], end, state)
        else:
            joined.append((start, end, state))
    return joined


def _unequal(what: str, found: dict[Any, Any], expected: dict[Any, Any]) -> Iterable[str]:
    for key in sorted(found.keys() | expected.keys(), key=str):
        if found.get(key) != expected.get(key):
            yield f"{what} {key}: SQL {found.get(key)}, oracle {expected.get(key)}"


def _close(got: int | None, want: Fraction | None, slack: int) -> bool:
    if got is None or want is None:
        return got is None and want is None
    return abs(got - want) <= slack


def _pico(usd: Decimal | None) -> int | None:
    return None if usd is None else int(usd.scaleb(12))


__all__ = ["differences"]
