"""What to change: the newest advice, what it rests on, why there is no other, what followed advice did."""

import json
from collections.abc import Sequence
from datetime import UTC
from shlex import quote

import streamlit as st

from dashboard.address import custom_query, link
from dashboard.screen import Screen, cards_row, draw
from dashboard.source import Row
from dashboard.tables import Column, html_table
from dashboard.words import explain, label, say
from taximeter.units import UNKNOWN, count, duration, share, usd

_ON_GPUS = {"gpu_ledger"}  # reports whose rows the page of cards shows


def body(screen: Screen) -> None:
    """Draw the page; advice has a time of its own, whatever range is chosen."""
    st.subheader(say("advice.title"))
    rows = screen.everywhere("recommendations")
    if not rows:
        st.info(say("advice.none_body"), title=say("advice.none_title"))
        st.code("taximeter plan advise", language="bash")
        return
    _head(rows, screen)
    advice = [row for row in rows if row["verdict"] == "advice"]
    if advice:
        _table(advice)
        _details(advice)
    else:
        st.info(say("advice.nothing_found"))
    _followed(screen)
    _reasons([row for row in rows if row["verdict"] == "none"])


def _head(rows: Sequence[Row], screen: Screen) -> None:
    run = rows[0]
    wall = screen.wall
    st.caption(
        say(
            "advice.made",
            since=wall.text(run["from_at"]),
            until=wall.text(run["until_at"]),
            made=wall.text(run["made_at"]),
            zone=wall.label,
        )
    )
    together = next((row for row in rows if row["verdict"] == "combined"), None)
    places = cards_row(3)
    if together:
        places[0].metric(
            say("advice.together"), usd(together["saving_usd_month"]), help=say("advice.together_help")
        )
        places[1].metric(say("advice.of_cost"), usd(together["cost_usd_month"]))
    given = sum(row["verdict"] == "advice" for row in rows)
    places[2].metric(say("advice.advice_count"), count(given))


def _table(advice: Sequence[Row]) -> None:
    columns = [
        Column(
            "advice",
            lambda row: label("advice_kinds", row["kind"]),
            number=False,
            hint=lambda row: row["sentence"],
        ),
        Column("target", lambda row: short(row["target"]), number=False, hint=lambda row: row["target"]),
        Column("saving_usd_month", saving_text),
        Column("added_wait", wait_text),
        Column(
            "confidence",
            lambda row: label("confidence", row["confidence"]),
            number=False,
            hint=lambda row: explain("confidence", row["confidence"]),
        ),
        Column(
            "evidence",
            evidence_text,
            number=False,
            link=evidence_link,
            hint=lambda row: row["evidence_report"],
        ),
        Column("change", lambda row: short(row["change"], 52), number=False, hint=lambda row: row["change"]),
    ]
    st.html(html_table(columns, advice, say("advice.title")))
    if any(not row["is_replayed"] for row in advice):
        st.caption(say("advice.range_note"))


def short(target: str | None, most: int = 28) -> str:
    """Shorten a text for a table; the whole of it is in the hint."""
    text = target or UNKNOWN
    return text if len(text) <= most else text[: most - 1] + "…"


def saving_text(row: Row) -> str:
    """Write a replayed saving as an amount and any other as its range."""
    if row["is_replayed"]:
        return usd(row["saving_usd_month"])
    low, high = usd(row["saving_low_usd_month"]), usd(row["saving_high_usd_month"])
    return say("advice.range", low=low, high=high)


def wait_text(row: Row) -> str:
    """Write the 95th and 99th percentile of added wait; a dash where nothing was replayed."""
    if row["added_wait_s_p95"] is None and row["added_wait_s_p99"] is None:
        return UNKNOWN
    return f"{duration(row['added_wait_s_p95'])} / {duration(row['added_wait_s_p99'])}"


def evidence_text(row: Row) -> str:
    """Tell how many rows an advice rests on; the hint names their report."""
    return say("advice.evidence_rows", count=count(row["evidence_rows"]))


def evidence_link(row: Row) -> str:
    """Write the address of the page that shows the rows over the time of the advice."""
    params = json.loads(row["evidence_params"] or "{}")
    query: dict[str, str | None] = dict(
        custom_query(*(row[at].replace(tzinfo=UTC) for at in ("from_at", "until_at")))
    )
    if row["evidence_report"] in _ON_GPUS:
        return link("gpus", query | {"deployment": params.get("deployment")})
    return link("tasks", query | {"agent": params.get("agent")})


def evidence_command(row: Row) -> str:
    """Write the command that answers exactly these rows; names come from traces and are quoted."""
    params = json.loads(row["evidence_params"] or "{}")
    words = ["taximeter report", str(row["evidence_report"])]
    for name, value in sorted(params.items()):
        if value is not None:
            is_own = name in {"since", "until"}
            words.append(f"--{name} {value}" if is_own else f"-p {quote(f'{name}={value}')}")
    return " ".join(words)


def _details(advice: Sequence[Row]) -> None:
    st.subheader(say("advice.details"))
    for row in advice:
        title = f"{label('advice_kinds', row['kind'])}: {short(row['target'], 90)} · {saving_text(row)}"
        with st.expander(_plain(title)):
            _detail(row)


def _detail(row: Row) -> None:
    st.write(_plain(row["sentence"]))
    for name in ("change", "signal", "assumption"):
        if row[name]:
            st.write(f"**{say(f'advice.{name}')}:** {_plain(row[name])}")
    known = say(
        "advice.known",
        coverage=share(row["coverage_ratio"]),
        calibration=share(row["calibration_error_ratio"]),
        source=row["price_source"] or UNKNOWN,
    )
    st.caption(_plain(known))
    st.caption(say("advice.rows", count=count(row["evidence_rows"]), command=evidence_command(row)))
    if row["manifest"]:
        st.code(row["manifest"], language="yaml")
    if row["followed_at"] is None:
        st.caption(say("advice.follow", id=row["advice_id"]))


def _plain(text: str) -> str:
    """Keep what Markdown would read as something else: a dollar is a dollar, and names stay as they are."""
    for letter in ("\\", "$", "*", "_", "[", "<", "~", "`"):
        text = text.replace(letter, "\\" + letter)
    return text


def _followed(screen: Screen) -> None:
    rows = screen.everywhere("recommendations_followed")
    if not rows:
        return
    st.subheader(say("advice.followed_title"))
    st.caption(say("advice.followed_note"))
    columns = [
        Column("advice", lambda row: label("advice_kinds", row["kind"]), number=False),
        Column("target", lambda row: short(row["target"]), number=False, hint=lambda row: row["target"]),
        Column("followed_at", lambda row: screen.wall.text(row["followed_at"]), number=False),
        Column("predicted_usd_month", predicted_text),
        Column(
            "saved_usd_month",
            lambda row: usd(row["saved_usd_month"]),
            hint=lambda row: row["why_not"] or "",
        ),
        Column("saved_per_task_usd_month", lambda row: usd(row["saved_per_task_usd_month"])),
        Column("tasks_per_day", _per_day),
    ]
    st.html(html_table(columns, rows, say("advice.followed_title")))


def predicted_text(row: Row) -> str:
    """Write what was predicted as it was given: an amount, or a range."""
    if row["predicted_usd_month"] is not None:
        return usd(row["predicted_usd_month"])
    low, high = usd(row["predicted_low_usd_month"]), usd(row["predicted_high_usd_month"])
    return say("advice.range", low=low, high=high)


def _per_day(row: Row) -> str:
    sides = (row["tasks_per_day_before"], row["tasks_per_day_after"])
    before, after = (UNKNOWN if side is None else f"{side:,.0f}" for side in sides)
    return say("advice.within", before=before, after=after)


def _reasons(rows: Sequence[Row]) -> None:
    if not rows:
        return
    columns = [
        Column("advice", lambda row: label("advice_kinds", row["kind"]), number=False),
        Column("target", lambda row: short(row["target"]), number=False, hint=lambda row: row["target"]),
        Column("reason", lambda row: row["sentence"].removeprefix("No advice: "), number=False),
    ]
    with st.expander(say("advice.no_title")):
        st.html(html_table(columns, rows, say("advice.no_title")))


if __name__ == "__main__":
    draw(body)
