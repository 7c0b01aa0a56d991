"""What the parameters of a report may be: text, whole numbers, numbers, instants and zones.

A name says what it holds, as everywhere: `_ns` and `since`/`until` an instant, `zone` a time zone; the
type of its default says the rest, and a parameter without a default takes text.
"""

import math
import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from taximeter.clock import NS_PER_S, to_ns
from taximeter.errors import BadInputError

Value = str | int | float | None

_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,9})([smhdw])")
_WHOLE = re.compile(r"-?\d{1,19}")


def parse_default(text: str) -> Value:
    """Read a default out of a report's header: nothing is null, digits are a number, all else is text."""
    if not text or text == "null":
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def parse_value(name: str, value: Value, default: Value, now_ns: int) -> Value:
    """Read a given value as what the parameter holds.

    Raises:
        BadInputError: it cannot be that.
    """
    if name.endswith("_ns"):
        return parse_instant(name, value, now_ns)
    if name == "zone":
        return _parse_zone(str(value))
    if isinstance(default, int):
        return _parse_whole(name, value)
    if isinstance(default, float) or name.endswith(("_s", "_ratio")):
        return _parse_number(name, value)
    return str(value) if default is None or isinstance(default, str) else value


def parse_instant(name: str, value: Value, now_ns: int) -> int:
    """Read an instant: ISO 8601 (UTC where it names no zone), a time ago such as 24h or 7d, now, or ns.

    Raises:
        BadInputError: it is none of these.
    """
    text = str(value).strip()
    if _is_bigint(text):
        return int(text)
    if text == "now":
        return now_ns
    if ago := _AGO.fullmatch(text):
        return now_ns - int(ago.group(1)) * _UNITS_S[ago.group(2)] * NS_PER_S
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        message = (
            f"{name.removesuffix('_ns')}: {text!r} is no instant; write 2026-11-30T08:00Z, 24h, 7d or ns"
        )
        raise BadInputError(message) from None
    return to_ns(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def _parse_zone(text: str) -> str:
    try:
        return ZoneInfo(text).key
    except (KeyError, ValueError, OSError):
        message = f"zone: there is no time zone {text!r}; write one such as Europe/Berlin"
        raise BadInputError(message) from None


def _is_bigint(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and -(1 << 63) <= int(text) < 1 << 63


def _parse_whole(name: str, value: Value) -> int:
    text = str(value)
    if not _is_bigint(text):
        message = f"{name}: {text!r} is no whole number"
        raise BadInputError(message)
    return int(text)


def _parse_number(name: str, value: Value) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        message = f"{name}: {value!r} is no number"
        raise BadInputError(message)
    return number
