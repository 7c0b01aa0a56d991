"""The GPUs: what each did, what nobody used, and which replicas the load never needed."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import streamlit as st

from dashboard.charts.money import idle_bars
from dashboard.charts.states import mostly, state_strips
from dashboard.empty import nothing
from dashboard.figures import by_money, gpu_names, short_id
from dashboard.palette import colour
from dashboard.screen import Screen, choose, draw, picture
from dashboard.source import Row
from dashboard.tables import Column, html_table
from dashboard.words import explain, label, say
from taximeter.units import UNKNOWN, duration, share, usd

LEAST_COVERAGE = 0.9
EXACT_UP_TO = timedelta(hours=6, minutes=15)


def body(screen: Screen) -> None:
    """Draw the page, for one deployment where the address names one."""
    st.subheader(say("gpus.title"))
    now = screen.everywhere("gpus_now")
    if not now and not screen.rows("gpu_ledger"):
        nothing(screen)
        return
    deployments = {row["deployment"] for row in now if row["deployment"]}
    chosen = choose(say("gpus.deployment"), "deployment", sorted(deployments))
    sources = price_sources(now)
    _need(_of(screen.rows("replica_need"), chosen), sources)
    _strips(screen, chosen)
    _idle(screen.rows("idle_waste", deployment=chosen), sources)
    _now(screen, _of(now, chosen))


def _of(rows: Sequence[Row], deployment: str | None) -> list[Row]:
    return [row for row in rows if deployment is None or row["deployment"] == deployment]


def _need(rows: Sequence[Row], sources: Mapping[str | None, str]) -> None:
    st.subheader(say("gpus.need"))
    if not rows:
        st.caption(say("gpus.need_none"))
    for row in rows:
        st.write(need_text(row, sources.get(row["deployment"], UNKNOWN)))


def price_sources(now: Sequence[Row]) -> dict[str | None, str]:
    """Name where the prices of each deployment's GPUs come from; a GPU without a price says so."""
    found: dict[str | None, set[str]] = {}
    for row in now:
        source = row["price_source"] or say("gpus.price_unknown")
        found.setdefault(row["deployment"], set()).add(source)
    return {deployment: ", ".join(sorted(names)) for deployment, names in found.items()}


def need_text(row: Row, source: str) -> str:
    """Say how many replicas of a deployment were never needed, and what they cost an hour by which price."""
    coverage = row["coverage_ratio"]
    if coverage is None or coverage < LEAST_COVERAGE:
        return f"{row['deployment']}: " + say("gpus.need_thin", coverage=share(coverage))
    if not row["never_needed"]:
        return say("gpus.need_all", deployment=row["deployment"], replicas=row["replicas"])
    price = row["usd_per_replica_hour"]
    still = " " + say("gpus.need_open", open=row["open_tasks"]) if row["open_tasks"] else ""
    text = say(
        "gpus.need_text",
        deployment=row["deployment"],
        never=row["never_needed"],
        replicas=row["replicas"],
        needed=row["most_needed"],
        price=usd(price) if price is not None else say("gpus.price_unknown"),
        source=source,
        saving=usd(price * row["never_needed"]) if price is not None else UNKNOWN,
    )
    return text + still


def _strips(screen: Screen, deployment: str | None) -> None:
    st.subheader(say("gpus.strip"))
    timeline, exact = _stretches(screen, deployment)
    if not timeline:
        st.caption(say("gpus.none"))
        return
    if not exact:
        st.caption(say("gpus.strip_mostly"))
    figure = state_strips(timeline, screen.wall, gpu_names(timeline), screen.span)
    picture(figure, "strips", say("gpus.strip"))


def _stretches(screen: Screen, deployment: str | None) -> tuple[list[Row], bool]:
    """Take every change of state where the range is short, else the main state of each quarter-hour."""
    if screen.span and screen.span[1] - screen.span[0] <= EXACT_UP_TO:
        return screen.rows("gpu_timeline", deployment=deployment), True
    return mostly(screen.rows("gpu_ledger", deployment=deployment)), False


def _idle(waste: Sequence[Row], sources: Mapping[str | None, str]) -> None:
    st.subheader(say("gpus.idle"))
    if not waste:
        st.caption(say("overview.idle_none"))
        return
    picture(idle_bars(waste), "gpu_idle", say("gpus.idle"))
    columns = [
        Column(
            "cause",
            lambda row: label("states", row["cause"]),
            number=False,
            dot=lambda row: colour("states", row["cause"]),
            hint=lambda row: explain("states", row["cause"]),
        ),
        Column("deployment", lambda row: row["deployment"] or UNKNOWN, number=False),
        Column("tool", lambda row: label("causes", row["tool"]) if row["tool"] else "", number=False),
        Column("gpu_s", lambda row: duration(row["gpu_s"])),
        Column("cost_usd", lambda row: usd(row["cost_usd"])),
        Column("concurrency", lambda row: str(row["concurrency"] or UNKNOWN)),
    ]
    if any(row["cost_low_usd"] is not None for row in waste):
        columns += [
            Column("cost_low_usd", lambda row: usd(row["cost_low_usd"])),
            Column("cost_high_usd", lambda row: usd(row["cost_high_usd"])),
        ]
        st.caption(say("gpus.band_note"))
    columns.append(Column("price_source", lambda row: sources.get(row["deployment"], UNKNOWN), number=False))
    st.html(html_table(columns, by_money(waste), say("gpus.idle")))


def _now(screen: Screen, rows: Sequence[Row]) -> None:
    st.subheader(say("gpus.now"))
    if not rows:
        st.caption(say("gpus.none"))
        return
    columns = [
        Column("gpu", lambda row: short_id(row["gpu_id"]), number=False, hint=lambda row: row["gpu_id"]),
        Column("name", lambda row: row["gpu_name"] or row["sku"] or UNKNOWN, number=False),
        Column("deployment", lambda row: row["deployment"] or UNKNOWN, number=False),
        Column(
            "state",
            lambda row: label("states", row["state"]) if row["state"] else UNKNOWN,
            number=False,
            dot=lambda row: colour("states", row["state"]),
        ),
        Column("idle_s", lambda row: duration(row["idle_s"])),
        Column("last_util_ratio", lambda row: share(row["last_util_ratio"])),
        Column("last_sample_at", lambda row: screen.wall.text(row["last_sample_at"])),
        Column("usd_per_hour", lambda row: usd(row["usd_per_hour"])),
        Column("price_source", lambda row: row["price_source"] or say("gpus.price_unknown"), number=False),
    ]
    st.html(html_table(columns, rows, say("gpus.now")))


if __name__ == "__main__":
    draw(body)
