"""The first page: what was spent, what nobody used, and why a task costs what it costs."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.bucket_table import bucket_table
from dashboard.charts.money import idle_bars, multiplier, waterfall
from dashboard.charts.states import state_stack
from dashboard.empty import nothing
from dashboard.figures import (
    LedgerShares,
    Sum,
    add,
    cautious,
    condense,
    dearest,
    ledger_shares,
    share_text,
    weighted_share,
)
from dashboard.palette import colour
from dashboard.screen import Screen, cards_row, draw, picture
from dashboard.source import Row
from dashboard.tables import Column, badge, html_table
from dashboard.words import say
from taximeter.units import UNKNOWN, count, times, usd

TOP = 8


def body(screen: Screen) -> None:
    """Draw the page, or how to send a first trace where there is nothing at all."""
    tasks, ledger = screen.table("tasks"), condense(screen.table("gpu_ledger", group_by="deployment"))
    if not tasks.num_rows and not ledger:
        nothing(screen)
        return
    buckets = screen.rows("multipliers", group_by="all")
    waste, shares = screen.rows("idle_waste"), ledger_shares(ledger)
    spend = screen.rows("spend")
    unknown = sum(row["unknown_costs"] or 0 for row in spend)
    _numbers(spend, multiplier(buckets), tasks, shares)
    st.html(_shares(tasks, shares, unknown))
    left, right = st.columns(2, gap="large")
    with left:
        _waterfall(buckets, tasks)
    with right:
        _idle(waste)
    _states(screen, ledger)
    _top(screen, tasks)


def _numbers(
    spend: Sequence[Row],
    cost_multiplier: float | None,
    tasks: pa.Table,
    ledger: LedgerShares,
) -> None:
    cards = cards_row(6)
    sums = {name: add(spend, f"{name}_cost_usd") for name in ("total", "token", "gpu", "idle")}
    missing = any(row["unknown_costs"] for row in spend)
    total = sums["total"]._replace(partly=sums["total"].partly or missing)
    tokens_known = (_usage_known(tasks), _priced(tasks))
    _card(cards[0], "multiplier", times(cost_multiplier))
    _money(cards[1], "idle", cautious(sums["idle"], ledger.priced))
    _money(cards[2], "total", cautious(total, *tokens_known, ledger.priced))
    _money(cards[3], "tokens", cautious(sums["token"], *tokens_known))
    _money(cards[4], "gpu", cautious(sums["gpu"], ledger.priced))
    _card(cards[5], "tasks", count(tasks.num_rows))


def _money(place: DeltaGenerator, name: str, amount: Sum) -> None:
    partly = say("overview.partly") if amount.partly and amount.usd is not None else None
    _card(place, name, usd(amount.usd), partly)


def _card(place: DeltaGenerator, name: str, value: str, note: str | None = None) -> None:
    place.metric(
        say(f"overview.{name}"),
        value,
        delta=note,
        delta_color="off",
        delta_arrow="off",
        help=say(f"overview.{name}_help"),
        border=True,
        height="stretch",
    )


def _shares(tasks: pa.Table, ledger: LedgerShares, unknown_costs: int) -> str:
    parts = {
        "usage_known": _usage_known(tasks),
        "priced": _priced(tasks),
        "gpu_known": ledger.known,
        "gpu_priced": ledger.priced,
        "estimated": ledger.estimated,
        "provisional": ledger.provisional,
    }
    badges = [
        badge(
            f"{say(f'shares.{name}')}: {share_text(value)}", _shade(name, value), say(f"shares.{name}_help")
        )
        for name, value in parts.items()
        if value is not None
    ]
    if unknown_costs:
        text = say("overview.unknown_costs", count=count(unknown_costs))
        badges.append(badge(text, colour("provenance", "unknown"), say("overview.unknown_costs_help")))
    return f'<div class="tx-badges">{"".join(badges)}</div>'


def _usage_known(tasks: pa.Table) -> float | None:
    return weighted_share(tasks, "usage_known_ratio", "llm_calls")


def _priced(tasks: pa.Table) -> float | None:
    return weighted_share(tasks, "priced_ratio", "total_tokens")


def _shade(name: str, value: float | None) -> str:
    if value is None:
        return colour("provenance", "unknown")
    if name in {"estimated", "provisional"}:
        return colour("provenance", "estimated" if value > 0 else "measured")
    return colour("provenance", "measured" if value >= 1 else "unknown")


def _waterfall(buckets: Sequence[Row], tasks: pa.Table) -> None:
    st.subheader(say("overview.multiplier_title"))
    tokens = times(multiplier(buckets, "token_factor_ratio"))
    if multiplier(buckets) is None:
        st.info(say("overview.multiplier_none", tokens=tokens))
        return
    picture(waterfall(buckets), "waterfall", say("overview.multiplier_title"))
    calls = count(pc.sum(tasks["llm_calls"]).as_py())
    priced = count(buckets[0]["cost_tasks"])
    whole = count(tasks.num_rows)
    st.caption(say("overview.multiplier_note", priced=priced, tasks=whole, calls=calls, tokens=tokens))
    with st.expander(say("general.show_numbers")):
        st.html(bucket_table(buckets))


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


def _top(screen: Screen, tasks: pa.Table) -> None:
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
    if tasks.num_rows > TOP:
        st.html(
            f'<a class="tx-note" target="_self" href="{screen.link("tasks")}">{say("overview.top_all")}</a>'
        )


if __name__ == "__main__":
    draw(body)
