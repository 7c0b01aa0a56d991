"""Instants: nanoseconds and datetimes say the same."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taximeter.clock import ManualClock, to_datetime, to_ns


@given(st.integers(-(10**18), 4 * 10**18))
def test_an_instant_survives_the_way_through_datetime(instant_ns: int) -> None:
    """Nanoseconds to datetime and back loses only what is below a microsecond."""
    assert to_ns(to_datetime(instant_ns)) == instant_ns // 1000 * 1000


def test_an_instant_is_the_same_in_every_zone() -> None:
    """23:30 in India and 18:00 UTC are one instant."""
    india = timezone(timedelta(hours=5, minutes=30))

    assert to_ns(datetime(2026, 11, 1, 23, 30, tzinfo=india)) == to_ns(datetime(2026, 11, 1, 18, tzinfo=UTC))


def test_a_datetime_without_a_zone_is_refused() -> None:
    """A wall clock without a zone names no instant."""
    with pytest.raises(ValueError, match="no time zone"):
        to_ns(datetime(2026, 11, 1))  # noqa: DTZ001 - the point of the test


def test_a_manual_clock_moves_only_when_told() -> None:
    """Time passes by sleeping, at once."""
    clock = ManualClock(5)
    clock.sleep(1.5)

    assert clock.now_ns() == 1_500_000_005
