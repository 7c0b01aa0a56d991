"""How the oracle rounds: from the top down, so that every sum is exact."""

from collections import defaultdict
from fractions import Fraction

from ledger_world import S
from oracle import Books, Cell


def bills(books: Books) -> dict[Cell, int | None]:
    """Round top-down: 1e-12 USD per GPU and quarter-hour, then its states; None where no price is known."""
    found: dict[Cell, int | None] = {}
    by_bill: dict[tuple[int, str], list[Cell]] = defaultdict(list)
    for cell in books.ns:
        by_bill[cell[0], cell[1]].append(cell)
    for bill, cells in by_bill.items():
        if bill in books.unpriced:
            found.update(dict.fromkeys(cells))
            continue
        exact = {cell: Fraction(books.money[cell] * 10**6, 3600 * S) for cell in cells}
        total = int(sum(exact.values()) + Fraction(1, 2))
        order = sorted(cells, key=lambda k: (-(exact[k] - int(exact[k])), k[2], k[3] or "", k[4]))
        rest = total - sum(int(x) for x in exact.values())
        found.update({cell: int(exact[cell]) + (place < rest) for place, cell in enumerate(order)})
    return found


__all__ = ["bills"]
