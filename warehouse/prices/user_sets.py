"""Rows of one model and one date belong together: they may cut the prompt and the day, but not contradict."""

from collections import Counter
from itertools import combinations

from warehouse.prices.rows import TokenPrice

_DAY_S = 86_400


def find_fault(rows: list[TokenPrice]) -> str | None:
    """Say what is wrong with the rows of one provider, model pattern and date; None if nothing is.

    Two rows for the same part contradict each other, and so do parts of the day that overlap. A row for a
    part of the day replaces the row for all day there, so each part must have the tiers that the others have.
    """
    parts = Counter((row.day_from_s, row.day_to_s, row.prompt_from_tokens) for row in rows)
    if max(parts.values()) > 1:
        return "two rows start at the same time; a row is never overwritten, give the new one its own date"
    by_day: dict[tuple[int | None, int | None], set[int]] = {}
    for row in rows:
        by_day.setdefault((row.day_from_s, row.day_to_s), set()).add(row.prompt_from_tokens)
    if any(tiers != next(iter(by_day.values())) for tiers in by_day.values()):
        return "each part of the day needs a row for each size of prompt that another part has"
    windows = [_seconds(part) for part in by_day if part[0] is not None]
    if any(one & other for one, other in combinations(windows, 2)):
        return "two parts of the day overlap"
    return None


def _seconds(part: tuple[int | None, int | None]) -> set[int]:
    """List the minutes of the day that a part covers; the file knows no finer time."""
    start, end = part[0] or 0, part[1] or 0
    length = (end - start) % _DAY_S
    return {(start + second) % _DAY_S // 60 for second in range(0, length, 60)}
