"""How figures become text: money, durations, tokens. Unknown is a dash, never a zero."""

from decimal import ROUND_HALF_EVEN, Decimal

UNKNOWN = "–"
_CENT = Decimal("0.01")
_MINUTE_S = 60
_HOUR_S = 3600
_THOUSAND = 1_000


def usd(amount: Decimal | None) -> str:
    """Write an amount in US dollars: cents from one dollar up, more digits below, a dash if unknown."""
    if amount is None:
        return UNKNOWN
    if amount == 0:
        return "$0.00"
    if abs(amount) >= 1:
        return f"${amount.quantize(_CENT, ROUND_HALF_EVEN):,}"
    digits = Decimal(1).scaleb(max(amount.adjusted() - 1, -12))
    return f"${amount.quantize(digits, ROUND_HALF_EVEN):f}"


def duration(seconds: float | None) -> str:
    """Write a duration in the largest unit that keeps two figures; a dash if unknown."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1:
        return f"{seconds * _THOUSAND:.0f} ms"
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.1f} min"
    return f"{seconds / _HOUR_S:.1f} h"


def count(number: int | None) -> str:
    """Write a whole number with thousands separated; a dash if unknown."""
    return UNKNOWN if number is None else f"{number:,}"


def times(ratio: float | None) -> str:
    """Write a multiplier such as 12.9 x; a dash if unknown."""
    if ratio is None:
        return UNKNOWN
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.1f}×"  # noqa: PLR2004


def share(ratio: float | None) -> str:
    """Write a ratio from 0 to 1 as a percentage; a dash if unknown."""
    return UNKNOWN if ratio is None else f"{ratio * 100:.1f} %"
