"""Figures as text: unknown is a dash, small money keeps its digits."""

from decimal import Decimal

import pytest

from taximeter import units


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "–"),
        (Decimal(0), "$0.00"),
        (Decimal("1234.567"), "$1,234.57"),
        (Decimal("0.0449"), "$0.045"),
        (Decimal("0.000837"), "$0.00084"),
        (Decimal("0.000000000001"), "$0.000000000001"),
        (Decimal("-3.5"), "$-3.50"),
    ],
)
def test_money_keeps_two_figures_below_a_dollar(amount: Decimal | None, text: str) -> None:
    """A cost of less than a cent is never written as zero, and an unknown one is a dash."""
    assert units.usd(amount) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.25, "250 ms"), (59.94, "59.9 s"), (90.0, "1.5 min"), (5400.0, "1.5 h")],
)
def test_durations_take_the_unit_that_fits(seconds: float | None, text: str) -> None:
    """A duration is written in the largest unit of which there is at least one."""
    assert units.duration(seconds) == text


def test_unknown_is_never_a_zero() -> None:
    """Every formatter writes unknown as a dash."""
    formatters = (units.usd, units.duration, units.count, units.times, units.share)

    assert {formatter(None) for formatter in formatters} == {"–"}
