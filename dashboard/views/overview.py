"""The first page: what was spent, what nobody used, and why a task costs what it costs."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.charts.money import idle_bars, multiplier, waterfall
from dashboard.charts.states import state_stack
from dashboard.empty import nothing
from dashboard.figures import LedgerShares, Sum, add, dearest, ledger_shares, weighted_share
from dashboard.palette import colour
from dashboard.screen import Screen, cards_row, draw, picture
from dashboard.source import Row
from dashboard.tables import Column, badge, html_table
from dashboard.words import say
from taximeter.units import UNKNOWN, count, share, times, usd

TOP = 8


def body(screen: Screen) -> None:
    """Draw the page, or how to send a first trace where there is nothing at all."""
    tasks, ledger = screen.rows("tasks"), screen.rows("gpu_ledger")
    if not tasks and not ledger:
        nothing(screen)
        return
    buckets = screen.rows("multipliers", group_by="all")
    _numbers(screen.rows("spend"), buckets, len(tasks))
    st.html(_shares(tasks, ledger_shares(ledger)))
    left, right = st.columns(2, gap="large")
    with left:
        _waterfall(buckets, tasks)
    with right:
        _idle(screen.rows("idle_waste"))
    _states(screen, ledger)
    _top(screen, tasks)


def _numbers(spend: Sequence[Row], buckets: Sequence[Row], tasks: int) -> None:
    cards = cards_row(6)
    _card(cards[0], "multiplier", times(multiplier(buckets)))
    for card, name in zip(cards[1:5], ("total", "idle", "gpu", "tokens"), strict=True):
        column = {"tokens": "token"}.get(name, name) + "_cost_usd"
        amount: Sum = add(spend, column)
        partly = say("overview.partly") if amount.partly and amount.usd is not None else None
        _card(card, name, usd(amount.usd), partly)
    _card(cards[5], "tasks", count(tasks))


def _card(place: DeltaGenerator, name: str, value: str, note: str | None = None) -> None:
    place.metric(
        say(f"overview.{name}"),
        value,
        delta=note,
        delta_color="off",
        delta_arrow="off",
        help=say(f"overview.{name}_help"),
        border=True,
    )


def _shares(tasks: Sequence[Row], ledger: LedgerShares) -> str:
    parts = {
        "usage_known": weighted_share(tasks, "usage_known_ratio", "llm_calls"),
        "priced": weighted_share(tasks, "priced_ratio", "total_tokens"),
        "gpu_known": ledger.known,
        "gpu_priced": ledger.priced,
        "estimated": ledger.estimated,
        "provisional": ledger.provisional,
    }
    badges = [
        badge(f"{say(f'shares.{name}')}: {share(value)}", _shade(name, value), say(f"shares.{name}_help"))
        for name, value in parts.items()
        if value is not None
    ]
    return f'<div class="tx-badges">{"".join(badges)}</div>'


def _shade(name: str, value: float | None) -> str:
    if value is None:
        return colour("provenance", "unknown")
    if name in {"estimated", "provisional"}:
        return colour("provenance", "estimated" if value > 0 else "measured")
    return colour("provenance", "measured" if value >= 1 else "unknown")


def _waterfall(buckets: Sequence[Row], tasks: Sequence[Row]) -> None:
    st.subheader(say("overview.multiplier_title"))
    if multiplier(buckets) is None:
        st.info(say("overview.multiplier_none"))
        return
    calls = sum(row["llm_calls"] or 0 for row in tasks)
    picture(waterfall(buckets), "waterfall", say("overview.multiplier_title"))
    st.caption(
        say(
            "overview.multiplier_note",
            calls=count(calls),
            tasks=count(len(tasks)),
            tokens=times(multiplier(buckets, "token_factor_ratio"))
            if _has_token_factor(buckets)
            else UNKNOWN,
        )
    )


def _has_token_factor(buckets: Sequence[Row]) -> bool:
    return all("token_factor_ratio" in row for row in buckets)


def _idle(waste: Sequence[Row]) -> None:
    st.subheader(say("overview.idle_title"))
    if waste:
        picture(idle_bars(waste), "idle", say("overview.idle_title"))
    else:
        st.caption(say("overview.idle_none"))


def _states(screen: Screen, ledger: Sequence[Row]) -> None:
    st.subheader(say("overview.states_title"))
    if ledger:
        picture(state_stack(ledger, screen.wall, screen.span), "states", say("overview.states_title"))
    else:
        st.caption(say("overview.states_none"))


def _top(screen: Screen, tasks: Sequence[Row]) -> None:
    st.subheader(say("overview.top_title"))
    columns = [
        Column(
            "task",
            lambda row: row["name"] or row["task_id"],
            number=False,
            link=lambda row: screen.link("task", task_id=row["task_id"]),
        ),
        Column("agent", lambda row: row["agent"] or UNKNOWN, number=False),
        Column("llm_calls", lambda row: count(row["llm_calls"])),
        Column("cost_multiplier", lambda row: times(row["cost_multiplier"])),
        Column("wait_cost_usd", lambda row: usd(row["wait_cost_usd"])),
        Column("total_cost_usd", lambda row: usd(row["total_cost_usd"])),
    ]
    st.html(html_table(columns, dearest(tasks, "total_cost_usd", TOP), say("overview.top_title")))
    if len(tasks) > TOP:
        st.html(
            f'<a class="tx-note" target="_self" href="{screen.link("tasks")}">{say("overview.top_all")}</a>'
        )


if __name__ == "__main__":
    draw(body)
