"""One price per model and instant: user rows cut the list prices, each row holding until the next."""

from itertools import pairwise

from warehouse.prices.rows import TokenPrice


def compose(listed: list[TokenPrice], own: list[TokenPrice]) -> list[TokenPrice]:
    """Join list rows and the user's rows (oldest first) into rows that never overlap.

    From the first own row on only own rows hold, each until the next one starts; of two that start at the
    same instant the later in the file wins.
    """
    if not own:
        return listed
    last_of = {row.from_ns: row for row in own}
    starts = sorted(last_of)
    first = starts[0]
    kept = [
        row._replace(to_ns=first if row.to_ns is None else min(row.to_ns, first))
        for row in listed
        if row.from_ns < first
    ]
    ends = [later for _, later in pairwise([*starts, None])]
    return kept + [last_of[start]._replace(to_ns=end) for start, end in zip(starts, ends, strict=True)]
