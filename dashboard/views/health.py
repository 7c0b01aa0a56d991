"""Health: whether the figures can be trusted, what was refused, and what has no price."""

from collections.abc import Sequence

import streamlit as st

from dashboard.palette import colour
from dashboard.screen import Screen, draw
from dashboard.source import Row
from dashboard.tables import Column, html_table
from dashboard.words import say
from taximeter.units import UNKNOWN


def body(screen: Screen) -> None:
    """Draw the checks, then the two lists of what is missing from the figures."""
    st.subheader(say("health.title"))
    checks = screen.everywhere("health")
    wrong = [row for row in checks if row["status"] in {"warn", "fail"}]
    st.write(say("health.bad", count=len(wrong)) if wrong else say("health.good"))
    columns = [
        Column("check", lambda row: str(row["check"]).replace("_", " "), number=False),
        Column(
            "status",
            lambda row: str(row["status"]),
            number=False,
            dot=lambda row: colour("status", row["status"]),
        ),
        Column("value", _value),
        Column("detail", lambda row: row["detail"] or "", number=False),
    ]
    st.html(html_table(columns, checks, say("health.laws")))
    st.subheader(say("health.unpriced"))
    _list(screen.rows("unpriced"), "health.unpriced_none", "unpriced")
    st.subheader(say("health.refused"))
    _list(screen.rows("refused"), "health.refused_none", "refused")


def _value(row: Row) -> str:
    if row["value"] is None:
        return UNKNOWN
    return f"{row['value']} {row['unit'] or ''}".strip()


def _list(rows: Sequence[Row], none: str, key: str) -> None:
    if rows:
        st.dataframe(list(rows), hide_index=True, placeholder=UNKNOWN, key=key, alt=say(f"health.{key}"))
    else:
        st.caption(say(none))


if __name__ == "__main__":
    draw(body)
