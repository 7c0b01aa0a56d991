"""The time range and its way through the address."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dashboard.address import PRESETS, QUARTER_NS, custom_query, link, read_range
from dashboard.testing import Served
from dashboard.wall import Wall, wall_of
from taximeter.clock import to_ns

Show = Callable[..., AppTest]
NOW = to_ns(datetime(2026, 12, 1, 4, 7, tzinfo=UTC))


def test_a_relative_range_begins_at_a_quarter_hour() -> None:
    """24 h before 04:07 begins at 04:00 the day before: GPU money is kept by the quarter-hour."""
    shown = read_range({"since": "24h"}, NOW)

    assert shown.since_ns == to_ns(datetime(2026, 11, 30, 4, 0, tzinfo=UTC))
    assert shown.until_ns is None
    assert shown.preset == "24h"


def test_without_a_range_the_last_day_is_shown() -> None:
    """An address without a range means the last 24 hours."""
    assert read_range({}, NOW) == read_range({"since": "24h"}, NOW)


def test_all_has_no_bounds() -> None:
    """All recorded time asks reports without bounds."""
    assert read_range({"since": "all"}, NOW).params() == {}


@pytest.mark.parametrize(
    "query",
    [
        {"since": "soon"},
        {"since": "24h", "until": "never"},
        {"since": "1h", "until": "7d"},
        {"since": ""},
        {"since": "2026-13-01T00:00Z"},
    ],
)
def test_a_range_that_makes_no_sense_falls_back_and_is_told(query: dict[str, str]) -> None:
    """The page shows the last day and says what it did not understand."""
    shown = read_range(query, NOW)

    assert shown.since_ns == read_range({}, NOW).since_ns
    assert shown.refused is not None
    assert query["since"] in shown.refused


@given(st.sampled_from(PRESETS))
def test_a_preset_survives_the_address(preset: str) -> None:
    """Reading what was written gives the same range."""
    shown = read_range({"since": preset}, NOW)

    assert read_range(shown.query(), NOW) == shown
    assert shown.preset == preset


@given(st.integers(0, 10**9), st.integers(1, 100_000))
def test_a_custom_range_survives_the_address(start_s: int, minutes: int) -> None:
    """Two instants written to the address are read back within the same quarter-hours."""
    begin = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=start_s)
    end = begin + timedelta(minutes=minutes)

    shown = read_range(custom_query(begin, end), NOW)

    assert shown.preset == "custom"
    assert shown.since_ns is not None
    assert shown.until_ns is not None
    assert shown.since_ns <= to_ns(begin) < shown.since_ns + QUARTER_NS
    assert shown.until_ns >= to_ns(end.replace(second=0, microsecond=0))
    assert read_range(shown.query(), NOW) == shown


def test_a_link_leaves_out_what_is_absent_and_quotes_the_rest() -> None:
    """Addresses carry names with any characters."""
    assert link("task", {"task_id": "a b&c", "agent": None}) == "task?task_id=a+b%26c"
    assert link("tasks", {}) == "tasks"


def test_one_offset_keeps_a_picture_straight_when_clocks_go_back() -> None:
    """Both 01:30 UTC and 00:30 UTC keep their distance on the day that Berlin sets its clocks back."""
    end = datetime(2026, 10, 25, 12, tzinfo=UTC)
    wall = wall_of(ZoneInfo("Europe/Berlin"), end)

    before = wall.at(end - timedelta(hours=11, minutes=30))
    after = wall.at(end - timedelta(hours=10, minutes=30))

    assert after - before == timedelta(hours=1)
    assert wall.label == "Europe/Berlin, UTC+01:00"


def test_a_time_on_the_wall_reads_back_as_the_same_instant() -> None:
    """What the visitor picks is the instant that the wall showed."""
    wall = Wall("Asia/Kolkata", timedelta(hours=5, minutes=30))
    instant = datetime(2026, 12, 1, 4, 7, tzinfo=UTC)

    assert wall.aware(wall.at(instant)) == instant
    assert wall.label == "Asia/Kolkata, UTC+05:30"


def test_choosing_a_range_writes_the_address(show: Show, day: Served) -> None:
    """The buttons and the address agree, and the reports are asked for the chosen range."""
    source, asked = day
    app = show(source, since="24h")
    app.button_group(key="range").set_value("7d").run()

    assert app.query_params["since"] == "7d"
    since = read_range({"since": "7d"}, to_ns(datetime.now(tz=UTC))).since_ns
    last = {name: query for name, query in asked if name != "health"}
    assert {"tasks", "gpu_ledger", "multipliers", "idle_waste", "spend"} <= set(last)
    for query in last.values():
        assert int(query["since_ns"]) == pytest.approx(since, abs=QUARTER_NS)


def test_custom_starts_from_what_is_shown(show: Show, day: Served) -> None:
    """Choosing a custom range turns the shown one into two instants that can be moved."""
    app = show(day[0], since="7d")
    app.button_group(key="range").set_value("custom").run()

    assert not app.exception
    custom = read_range(app.query_params, to_ns(datetime.now(tz=UTC)))
    assert custom.preset == "custom"
    assert custom.refused is None


def test_refreshing_lives_in_the_address(show: Show, day: Served) -> None:
    """The switch writes and clears live=1, and links to other pages keep it."""
    app = show(day[0], live="1")
    assert all("live=1" in page.proto.query_string for page in app.get("page_link"))

    app.toggle(key="live").set_value(False).run()

    assert "live" not in app.query_params
