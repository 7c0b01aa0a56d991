"""All tasks of the range: filters in the address, sortable, each a link to its own page."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import streamlit as st

from dashboard.empty import nothing
from dashboard.figures import add
from dashboard.screen import Screen, choose, draw, search
from dashboard.source import Row
from dashboard.words import say
from taximeter.units import UNKNOWN, count, usd

NEEDED = [
    *("task_id", "name", "agent", "task_type", "status", "started_at", "duration_s"),
    *("llm_calls", "retries", "loops", "total_tokens", "cost_multiplier", "usage_known_ratio"),
    *("total_cost_usd", "token_cost_usd", "gpu_cost_usd", "wait_cost_usd"),
]
FILTERS = ("agent", "task_type", "status")
MONEY = ("total_cost_usd", "token_cost_usd", "gpu_cost_usd", "wait_cost_usd")
LIMIT = 5_000  # more rows than a person reads, and than a browser likes
COUNTS = ("llm_calls", "retries", "loops", "total_tokens")


def body(screen: Screen) -> None:
    """Draw the list, or how to fill it."""
    st.subheader(say("tasks.title"))
    tasks = screen.table("tasks", limit=LIMIT).select(NEEDED).to_pylist()
    if not tasks:
        nothing(screen)
        return
    found = _filtered(tasks)
    if not found:
        st.info(say("tasks.none"))
        return
    amount = add(found, "total_cost_usd")
    known = sum(row["total_cost_usd"] is not None for row in found)
    key = "tasks.found_partly" if amount.partly else "tasks.found"
    st.caption(say(key, count=count(len(found)), cost=usd(amount.usd), known=count(known)))
    if len(tasks) == LIMIT:
        st.warning(say("tasks.limited", limit=count(LIMIT)))
    st.dataframe(
        listing(found, screen),
        column_config=_columns(),
        hide_index=True,
        placeholder=UNKNOWN,
        height=min(36 * (len(found) + 1) + 4, 640),
        key="tasks",
        alt=say("tasks.title"),
    )


def _filtered(tasks: Sequence[Row]) -> list[Row]:
    boxes = st.columns([2, 1, 1, 1])
    with boxes[0]:
        text = search(say("tasks.search"), "q").casefold()
    found = [row for row in tasks if text in f"{row['name'] or ''} {row['task_id']}".casefold()]
    for box, name in zip(boxes[1:], FILTERS, strict=True):
        with box:
            options = sorted({str(row[name]) for row in tasks if row[name] is not None})
            chosen = choose(say(f"tasks.{name}"), name, options)
        if chosen is not None:
            found = [row for row in found if row[name] == chosen]
    return sorted(found, key=lambda row: row["started_at"], reverse=True)


def listing(tasks: Sequence[Row], screen: Screen) -> pa.Table:
    """Lay tasks out for a sortable grid; money becomes a double here, for looking at only."""
    columns: dict[str, list[Any]] = {
        "task": [_address(row, screen) for row in tasks],
        "started_at": [screen.wall.at(row["started_at"]) for row in tasks],
        "agent": [row["agent"] for row in tasks],
        "status": [row["status"] for row in tasks],
        "cost_multiplier": [row["cost_multiplier"] for row in tasks],
        "total_cost_usd": _doubles(tasks, "total_cost_usd"),
        "wait_cost_usd": _doubles(tasks, "wait_cost_usd"),
        "gpu_cost_usd": _doubles(tasks, "gpu_cost_usd"),
        "token_cost_usd": _doubles(tasks, "token_cost_usd"),
        "duration_s": [row["duration_s"] for row in tasks],
        **{name: [row[name] for row in tasks] for name in COUNTS},
        "known": [_percent(row["usage_known_ratio"]) for row in tasks],
        "task_type": [row["task_type"] for row in tasks],
    }
    return pa.table(columns, schema=pa.schema([(name, _type(name)) for name in columns]))


def _type(name: str) -> pa.DataType:
    if name in COUNTS:
        return pa.int64()
    if name == "started_at":
        return pa.timestamp("us")
    numbers = {"cost_multiplier", "duration_s", "known", *MONEY}
    return pa.float64() if name in numbers else pa.string()


def _address(row: Row, screen: Screen) -> str:
    return screen.link("task", task_id=row["task_id"]) + "#" + str(row["name"] or row["task_id"])


def _doubles(tasks: Sequence[Row], name: str) -> list[float | None]:
    return [None if row[name] is None else float(row[name]) for row in tasks]


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else ratio * 100


def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    return {
        "task": st.column_config.LinkColumn(
            say("columns.task"), display_text=r"#(.*)$", pinned=True, alignment="left", width="medium"
        ),
        "started_at": st.column_config.DatetimeColumn(
            say("columns.started_at"), format="YYYY-MM-DD HH:mm:ss"
        ),
        "agent": say("columns.agent"),
        "status": say("columns.status"),
        "task_type": say("columns.task_type"),
        "cost_multiplier": number(say("columns.cost_multiplier"), format="%.1f×"),
        "duration_s": number(say("columns.duration_s"), format="%.1f s"),
        "known": number(say("columns.known"), format="%.0f %%", help=say("shares.usage_known_help")),
        **{name: number(say(f"columns.{name}"), format="$%.4f") for name in MONEY},
        **{name: number(say(f"columns.{name}"), format="localized") for name in COUNTS},
    }


if __name__ == "__main__":
    draw(body)
