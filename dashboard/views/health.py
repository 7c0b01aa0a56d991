"""Health: whether the figures can be trusted, what was refused, and what has no price."""

import pyarrow as pa
import streamlit as st

from dashboard.palette import colour
from dashboard.screen import Screen, draw
from dashboard.source import Row
from dashboard.tables import Column, html_table
from dashboard.words import say
from taximeter.units import UNKNOWN, count, duration, share

LISTS = ("unpriced", "unmatched", "unplaced", "no_answer", "refused")


def body(screen: Screen) -> None:
    """Draw the checks, then the lists of what is missing from the figures."""
    st.subheader(say("health.title"))
    checks = screen.rows("health")
    wrong = [row for row in checks if row["status"] in {"warn", "fail"}]
    st.write(
        say("health.bad", checks=", ".join(named(row) for row in wrong)) if wrong else say("health.good")
    )
    columns = [
        Column("check", named, number=False),
        Column(
            "status",
            lambda row: str(row["status"]),
            number=False,
            dot=lambda row: colour("status", row["status"]),
        ),
        Column("value", value_text),
        Column("detail", lambda row: row["detail"] or "", number=False),
    ]
    st.html(html_table(columns, checks, say("health.laws")))
    for name in LISTS:
        st.subheader(say(f"health.{name}"))
        _list(screen.table(name), name)


def named(row: Row) -> str:
    """Name a check in words."""
    return str(row["check"]).replace("_", " ").replace(":", ": ")


def value_text(row: Row) -> str:
    """Write a check's value in its unit; a dash if unknown."""
    value, unit = row["value"], row["unit"]
    if value is None:
        return UNKNOWN
    if unit == "ratio":
        return share(value)
    if unit == "s":
        return duration(value)
    return f"{count(round(value))} {unit or ''}".strip()


def _list(found: pa.Table, name: str) -> None:
    if found.num_rows:
        titled = found.rename_columns([column.replace("_", " ") for column in found.column_names])
        st.dataframe(titled, hide_index=True, placeholder=UNKNOWN, key=name, alt=say(f"health.{name}"))
    else:
        st.caption(say(f"health.{name}_none"))


if __name__ == "__main__":
    draw(body)
