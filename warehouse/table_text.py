"""A report as text for a terminal: units by the column's name, numbers to the right, unknown as a dash."""

import unicodedata
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from taximeter import units

LONGEST_TEXT = 80
_GAP = "  "
_TIMES = ("_multiplier", "factor_ratio", "_to_mean_ratio")


def to_table(table: pa.Table, width: int | None = None) -> str:
    """Write a header and one line per row.

    Args:
        table: the report.
        width: columns of the terminal; columns beyond it are left out and counted in a last line. None
            writes them all.
    """
    if not table.num_rows:
        return "no rows\n"
    columns = [_column(name, table.column(name)) for name in table.column_names]
    shown = columns if width is None else _fitting(columns, width)
    lines = [_GAP.join(cells).rstrip() for cells in zip(*shown, strict=True)]
    lines.insert(1, _GAP.join("─" * _width(column[0]) for column in shown))
    left_out = len(columns) - len(shown)
    if left_out:
        names = ", ".join(table.column_names[len(shown) :])
        lines.append(f"{left_out} more columns do not fit: {names}; --format json or csv shows all")
    return "\n".join(lines) + "\n"


def _column(name: str, column: pa.ChunkedArray) -> list[str]:
    cells = [_cell(name, value) for value in column.to_pylist()]
    is_number = pa.types.is_decimal(column.type) or pa.types.is_integer(column.type)
    to_right = is_number or pa.types.is_floating(column.type)
    widest = max(_width(text) for text in [name, *cells])
    return [_pad(text, widest, to_right=to_right) for text in [name, *cells]]


def _cell(name: str, value: Any) -> str:
    if value is None or value != value:  # noqa: PLR0124 - NaN is the only value that is not itself
        return units.UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal | int | float):
        return _number(name, value)
    text = ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
    return _one_line(text)


def _number(name: str, value: Decimal | float) -> str:
    if name.endswith("_usd") or name.startswith("usd_per_"):
        return units.usd(Decimal(str(value)))
    if name.endswith(_TIMES):
        return units.times(float(value))
    if name.endswith("_ratio"):
        return units.share(float(value))
    if name.endswith("_s"):
        return units.duration(float(value))
    if value == int(value):
        return units.count(int(value))
    return f"{value:,.3f}"


def _one_line(text: str) -> str:
    """Drop control characters: text of traces must not move the cursor or colour the terminal."""
    clean = "".join(" " if unicodedata.category(sign).startswith("C") else sign for sign in text)
    return clean if len(clean) <= LONGEST_TEXT else clean[: LONGEST_TEXT - 1] + "…"


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    narrow = sum(unicodedata.combining(sign) > 0 for sign in text)
    return len(text) + wide - narrow


def _pad(text: str, width: int, *, to_right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if to_right else text + space


def _fitting(columns: list[list[str]], width: int) -> list[list[str]]:
    shown: list[list[str]] = []
    used = 0
    for column in columns:
        used += _width(column[0]) + (len(_GAP) if shown else 0)
        if used > width and shown:
            break
        shown.append(column)
    return shown
