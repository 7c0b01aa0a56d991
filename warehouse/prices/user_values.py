"""The values of the user's price file: dates, money, parts of the day, sizes of prompts.

Every function raises ValueError with a text for the person who wrote the row.
"""

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from taximeter.clock import to_ns

_MICRO = Decimal("0.000001")
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
_DAY_S = 86_400


def instant(value: Any) -> int:
    """Read a date (midnight UTC) or an instant (UTC where it names no zone) as nanoseconds."""
    if isinstance(value, datetime):
        return to_ns(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return to_ns(datetime.combine(value, time(0), UTC))
    try:
        return instant(datetime.fromisoformat(str(value)))
    except ValueError:
        message = f"{value!r} is not a date; write it like 2026-11-01"
        raise ValueError(message) from None


def price(value: Any, row: Any) -> Decimal:
    """Read money; negative and infinite amounts are none, and neither is true."""
    number = _decimal(value)
    if not number.is_finite() or number < 0:
        message = f"{value!r} is not a price: {row}"
        raise ValueError(message)
    return number


def ratio(value: Any, row: Any) -> Decimal:
    """Read a share from 0 up to, not including, 1."""
    number = _decimal(value)
    if not 0 <= number < 1:
        message = f"{value!r} is not a share from 0 to 1: {row}"
        raise ValueError(message)
    return number


def flag(value: Any, row: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        message = f"{value!r} is neither true nor false: {row}"
        raise ValueError(message)  # noqa: TRY004 - told as every other fault of the file
    return value


def to_micro(usd: Decimal) -> Decimal:
    """Round to millionths of a USD, the grain of GPU prices."""
    return usd.quantize(_MICRO)


def prompt(row: Any) -> tuple[int, int | None]:
    """Read the half-open range of prompt sizes for which a row holds; no end means all above."""
    low, high = row.get("prompt_from_tokens", 0), row.get("prompt_to_tokens")
    whole = type(low) is int and (high is None or type(high) is int)
    if not whole or low < 0 or (high is not None and high <= low):
        message = f"prompt_from_tokens and prompt_to_tokens are no range: {row}"
        raise ValueError(message)
    return low, high


def day(row: Any) -> tuple[int | None, int | None]:
    """Read the half-open part of the UTC day, in seconds, for which a row holds; None twice for all day.

    A part may run over midnight: from 16:30 to 00:30.
    """
    if (row.get("day_from") is None) != (row.get("day_to") is None):
        message = f"day_from and day_to come together: {row}"
        raise ValueError(message)
    if row.get("day_from") is None:
        return None, None
    from_s, to_s = (_second(row[key], row) for key in ("day_from", "day_to"))
    if from_s % _DAY_S == to_s % _DAY_S:
        message = f"day_from and day_to are the same instant: {row}"
        raise ValueError(message)
    return from_s % _DAY_S, to_s


def _second(value: Any, row: Any) -> int:
    # YAML 1.1 reads 16:30 without quotes as a number to base 60: the minutes of the day.
    text = f"{value // 60}:{value % 60:02}" if type(value) is int else str(value)
    match = _CLOCK.fullmatch(text)
    seconds = int(match[1]) * 3600 + int(match[2]) * 60 if match else _DAY_S + 1
    if seconds > _DAY_S:
        message = f"{value!r} is no time of the day; write it like 16:30: {row}"
        raise ValueError(message)
    return seconds


def _decimal(value: Any) -> Decimal:
    try:
        return Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return Decimal("NaN")
