"""The GPU prices in force: the one row that prices a card at an instant, and what stays when lists change.

A step keeps the edition that priced it; a GPU-second has nothing to keep one in, so the time line of prices
keeps it: what was in force when a list changed stays in force for the time before, until it is priced again.
"""

from collections.abc import Collection, Iterable

from warehouse.prices.rows import GpuPrice

FOREVER = (1 << 63) - 1


def choose(listed: Iterable[GpuPrice]) -> list[GpuPrice]:
    """Lay the rows of lists out in time, per SKU: the user's from their first one on, before it the default.

    Rows that only serve to compare with are left out.
    """
    chosen: list[GpuPrice] = []
    for rows in _by_sku(row for row in listed if row.is_default).values():
        own = {row.from_ns: row for row in rows if row.is_user_row}
        first = min(own, default=FOREVER)
        defaults = {row.from_ns: row for row in rows if not row.is_user_row and row.from_ns < first}
        line = [row for _, row in sorted((defaults | own).items())]
        ends = [row.from_ns for row in line[1:]] + [None]
        chosen += [row._replace(to_ns=end) for row, end in zip(line, ends, strict=True)]
    return chosen


def replace(
    force: Iterable[GpuPrice], listed: Iterable[GpuPrice], since_ns: int, until_ns: int = FOREVER
) -> list[GpuPrice]:
    """Put the rows of `listed` in force for [since_ns, until_ns) and leave the time around it as it was.

    Args:
        force: what is in force, as this function or `choose` made it.
        listed: rows as `choose` makes them.
        since_ns: nanoseconds UTC.
        until_ns: nanoseconds UTC, not included.
    """
    outside = [(0, since_ns), (until_ns, FOREVER)]
    old = [part for row in force for start, end in outside for part in _clip(row, start, end)]
    new = [part for row in listed for part in _clip(row, since_ns, until_ns)]
    return [row for rows in _by_sku(old + new).values() for row in _joined(rows)]


def change(
    force: Iterable[GpuPrice], listed: Iterable[GpuPrice], now_ns: int, billed: Collection[str]
) -> list[GpuPrice]:
    """Put changed lists in force from now on; for a SKU that never billed anything, for all time."""
    old, new = list(force), list(listed)
    kept = replace(
        [row for row in old if row.sku in billed], [row for row in new if row.sku in billed], now_ns
    )
    return kept + [row for row in new if row.sku not in billed]


def _clip(row: GpuPrice, since_ns: int, until_ns: int) -> list[GpuPrice]:
    start, end = max(row.from_ns, since_ns), min(FOREVER if row.to_ns is None else row.to_ns, until_ns)
    return [row._replace(from_ns=start, to_ns=None if end == FOREVER else end)] if start < end else []


def _joined(rows: list[GpuPrice]) -> list[GpuPrice]:
    """Join neighbours that were cut but are one price."""
    joined: list[GpuPrice] = []
    for row in sorted(rows, key=lambda row: row.from_ns):
        before = joined[-1] if joined else None
        if before and before == row._replace(from_ns=before.from_ns, to_ns=row.from_ns):
            joined[-1] = before._replace(to_ns=row.to_ns)
        else:
            joined.append(row)
    return joined


def _by_sku(rows: Iterable[GpuPrice]) -> dict[str, list[GpuPrice]]:
    found: dict[str, list[GpuPrice]] = {}
    for row in rows:
        found.setdefault(row.sku, []).append(row)
    return found
