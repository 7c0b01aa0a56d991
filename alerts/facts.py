"""What a message may say about the rows of an alert: figures as text, the unknown as unknown."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from taximeter import units

Row = Mapping[str, Any]
_FIELD = re.compile(r"\{(\w+)\}")
_SHOWN_ROWS = 8


def gather(rows: Sequence[Row], labels: Mapping[str, str | None]) -> dict[str, str]:
    """Gather what templates may name.

    `count` rows; each column by its name: the value all rows share, else the largest number, else the
    values one after another; `total_<column>` of a money column: its sum, and how much of it is unknown;
    each label by its name.
    """
    facts = {"count": str(len(rows)), "s": "" if len(rows) == 1 else "s"}
    for column in rows[0] if rows else ():
        values = [row[column] for row in rows]
        facts[column] = _together(column, values)
        if "usd" in column.split("_"):
            facts[f"total_{column}"] = _sum(values, " an hour" if column.endswith("_per_hour") else "")
    facts |= {name: f"no {name}" if value is None else value for name, value in labels.items()}
    return facts


def fill(template: str, facts: Mapping[str, str]) -> str:
    """Put facts in the place of {names}; a name nobody knows becomes a dash, never an error or a zero."""
    return _FIELD.sub(lambda match: facts.get(match[1], units.UNKNOWN), template).strip()


def fill_link(template: str, labels: Mapping[str, str | None]) -> str:
    """Put quoted labels in the place of {names} in an address; absent ones become empty."""
    return _FIELD.sub(lambda match: quote(labels.get(match[1]) or "", safe=""), template)


def show(column: str, value: Any) -> str:
    """Write one cell in the unit that its column's name carries."""
    if value is None:
        return units.UNKNOWN
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S UTC")
    if isinstance(value, Decimal):
        return units.usd(value)
    for ending, write in _WRITERS.items():
        if column.endswith(ending):
            return write(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _together(column: str, values: Sequence[Any]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return units.UNKNOWN
    if isinstance(known[0], int | float | Decimal) and not isinstance(known[0], bool):
        return show(column, max(known))
    distinct = sorted({show(column, value) for value in known})
    shown = ", ".join(distinct[:_SHOWN_ROWS])
    left_out = len(distinct) - _SHOWN_ROWS
    return f"{shown} and {left_out} more" if left_out > 0 else shown


def _sum(values: Sequence[Decimal | None], per: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "price unknown"
    total = units.usd(sum(known, Decimal(0))) + per
    unknown = len(values) - len(known)
    return total if not unknown else f"at least {total} (price unknown for {unknown} of {len(values)})"


_WRITERS = {
    "_s": units.duration,
    "_ratio": units.share,
    "_multiplier": units.times,
    "_tokens": units.count,
}
