"""One price per model, instant and size of prompt: user rows cut the list prices, each until the next."""

from itertools import pairwise

from warehouse.prices.rows import TokenPrice


def compose(listed: list[TokenPrice], own: list[TokenPrice]) -> list[TokenPrice]:
    """Join list rows and the user's rows (oldest first) into rows of which at any instant one set holds.

    From the first own row on only own rows hold: all that start at one instant, until the next ones start. Of
    two for the same part of the day and size of prompt that start together the later in the file wins.
    """
    if not own:
        return listed
    starts = sorted({row.from_ns for row in own})
    first = starts[0]
    kept = [
        row._replace(to_ns=first if row.to_ns is None else min(row.to_ns, first))
        for row in listed
        if row.from_ns < first
    ]
    end_of = dict(pairwise([*starts, None]))
    last_of = {(row.from_ns, row.day_from_s, row.day_to_s, row.prompt_from_tokens): row for row in own}
    return kept + [row._replace(to_ns=end_of[row.from_ns]) for row in last_of.values()]
