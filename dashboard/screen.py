"""What every page stands on: its source, its time range read from the address, and the clock on the wall."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.address import CUSTOM, DEFAULT, PRESETS, Range, bounds, custom_query, link, read_range
from dashboard.source import Row, Source, ask, current, rows, zone_of
from dashboard.wall import Wall, wall_of
from dashboard.words import say
from taximeter.clock import SYSTEM_CLOCK, Clock, to_datetime
from taximeter.errors import TaximeterError

LIVE_S = 10
CARD_PX = 150


class Screen(NamedTuple):
    """One page being drawn."""

    source: Source
    range: Range
    wall: Wall
    now: datetime

    def rows(self, name: str, **params: Any) -> list[Row]:
        """Answer a report over the range of the page."""
        return rows(self.source, name, **(self.range.params() | params))

    def table(self, name: str, **params: Any) -> pa.Table:
        """Answer a report over the range of the page as Arrow: for reports that may be long."""
        return ask(self.source, name, **(self.range.params() | params))

    def everywhere(self, name: str, **params: Any) -> list[Row]:
        """Answer a report over all recorded time."""
        return rows(self.source, name, **params)

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """The range on the wall, for a time axis; None where the range is open at its start."""
        begin, end = bounds(self.range)
        return None if begin is None else (self.wall.at(begin), self.wall.at(end or self.now))

    def link(self, page: str, **query: str | None) -> str:
        """Write the address of another page that keeps the range."""
        return link(page, self.range.query() | query)


def open_screen(clock: Clock = SYSTEM_CLOCK) -> Screen:
    """Read the address of the page that is being drawn."""
    source = current()
    now_ns = clock.now_ns()
    shown = read_range(st.query_params.to_dict(), now_ns)
    end = to_datetime(now_ns if shown.until_ns is None else shown.until_ns)
    return Screen(source, shown, wall_of(zone_of(source), end), to_datetime(now_ns))


def range_picker(screen: Screen) -> None:
    """Draw the choice of a time range; choosing writes the address, and the address decides."""
    st.session_state["range"] = screen.range.preset
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.segmented_control(
            say("general.range_label"),
            [*PRESETS, CUSTOM],
            key="range",
            required=True,
            default=None,
            format_func=lambda name: say(f"range.{name}"),
            label_visibility="collapsed",
            on_change=_choose,
            args=(screen,),
        )
        st.session_state["live"] = is_live()
        st.toggle(say("general.live_label"), key="live", help=say("general.live_help"), on_change=_set_live)
        st.caption(_range_text(screen), width="content")
    if screen.range.refused:
        st.warning(say("general.range_refused", what=screen.range.refused))
    if screen.range.preset == CUSTOM:
        _custom(screen)


def _choose(screen: Screen) -> None:
    chosen = st.session_state["range"]
    if chosen == CUSTOM:
        start = to_datetime(read_range({"since": DEFAULT}, _ns(screen.now)).since_ns or 0)
        begin, end = bounds(screen.range)
        st.query_params.update(custom_query(begin or start, end or screen.now))
    else:
        st.query_params.pop("until", None)
        st.query_params["since"] = chosen


def _ns(instant: datetime) -> int:
    return round(instant.timestamp()) * 1_000_000_000


def _custom(screen: Screen) -> None:
    begin, end = bounds(screen.range)
    with st.form("custom", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        start = st.datetime_input(say("general.custom_from"), screen.wall.at(begin or screen.now), width=220)
        until = st.datetime_input(say("general.custom_until"), screen.wall.at(end or screen.now), width=220)
        if st.form_submit_button(say("general.custom_apply")) and start and until:
            if until <= start:
                st.warning(say("general.custom_order"))
            else:
                st.query_params.update(custom_query(screen.wall.aware(start), screen.wall.aware(until)))
                st.rerun()


def _range_text(screen: Screen) -> str:
    begin, end = bounds(screen.range)
    zone = screen.wall.label
    if begin is None:
        return say("general.all_time", zone=zone)
    start = f"{screen.wall.at(begin):%a %d %b %Y, %H:%M}"
    if end is None:
        return say("general.from_now", start=start, zone=zone)
    return say("general.from_to", start=start, end=f"{screen.wall.at(end):%a %d %b %Y, %H:%M}", zone=zone)


def is_live() -> bool:
    """Tell whether the address asks for a page that refreshes itself."""
    return st.query_params.get("live") == "1"


def _set_live() -> None:
    if st.session_state["live"]:
        st.query_params["live"] = "1"
    else:
        st.query_params.pop("live", None)


def draw(body: Callable[[Screen], None]) -> None:
    """Draw the body of a page, again and again where the address asks for it; a failure is one line."""

    def once() -> None:
        try:
            body(open_screen())
        except TaximeterError as error:
            st.error(str(error), title=say("general.failed_title"))

    st.fragment(once, run_every=LIVE_S if is_live() else None)()


def cards_row(number: int) -> list[DeltaGenerator]:
    """Lay out places for figures: side by side on a desk, two a row on a phone."""
    with st.grid(number, min_column_width=CARD_PX):
        return [st.container(height="stretch") for _ in range(number)]


def picture(figure: go.Figure, key: str, alt: str) -> None:
    """Draw a figure in the page's theme; `alt` is what a screen reader says of it."""
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})


def choose(label: str, key: str, options: list[str]) -> str | None:
    """Draw a filter that lives in the address; None means all. A value that is not offered any more stays."""
    chosen = st.query_params.get(key)
    offered = sorted({*options, *([chosen] if chosen else [])})
    st.session_state[f"filter_{key}"] = chosen or ""
    st.selectbox(
        label,
        ["", *offered],
        key=f"filter_{key}",
        format_func=lambda value: value or say("general.all_values"),
        on_change=_write,
        args=(key, f"filter_{key}"),
    )
    return chosen


def search(label: str, key: str) -> str:
    """Draw a text filter that lives in the address."""
    st.session_state[f"filter_{key}"] = st.query_params.get(key, "")
    st.text_input(label, key=f"filter_{key}", on_change=_write, args=(key, f"filter_{key}"))
    return str(st.query_params.get(key, ""))


def _write(key: str, state: str) -> None:
    value = st.session_state[state]
    if value:
        st.query_params[key] = value
    else:
        st.query_params.pop(key, None)
