"""One task: its trajectory over the GPUs it used and held, where its money went, and every step."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import streamlit as st

from dashboard.bucket_table import bucket_table
from dashboard.charts.trajectory import step_name, trajectory
from dashboard.figures import gpu_names, share_text
from dashboard.palette import colour
from dashboard.screen import Screen, cards_row, draw, picture
from dashboard.source import Row
from dashboard.tables import badge
from dashboard.words import label, say
from taximeter.clock import NS_PER_S, to_datetime, to_ns
from taximeter.units import UNKNOWN, count, duration, times, usd

POINTS = 600
EDGE_SHARE = 0.03


def body(screen: Screen) -> None:
    """Draw the task that the address names."""
    task_id = st.query_params.get("task_id")
    if not task_id:
        st.info(say("task.none_body"), title=say("task.none_title"))
        st.html(f'<a target="_self" href="{screen.link("tasks")}">{say("overview.top_all")}</a>')
        return
    found = screen.everywhere("tasks", task_id=task_id)
    if not found:
        st.warning(say("task.missing_body"), title=say("task.missing_title", task_id=task_id))
        return
    task = found[0]
    steps = [step for step in screen.everywhere("task_steps", task_id=task_id) if step["counted"]]
    _head(task, screen)
    _timeline(screen, task, steps)
    _buckets(screen.everywhere("multipliers", group_by="task", task_id=task_id))
    _steps(screen, steps)


def _head(task: Row, screen: Screen) -> None:
    st.html(f'<a class="tx-note" target="_self" href="{screen.link("tasks")}">{say("task.back")}</a>')
    st.subheader(str(task["name"] or task["task_id"]))
    facts = [task["agent"], task["task_type"], screen.wall.text(task["started_at"]), task["task_id"]]
    st.caption(" · ".join(str(fact) for fact in facts if fact))
    _numbers(task)
    st.html(_badges(task))
    if task["unexplained_tokens"]:
        st.caption(say("task.unexplained", tokens=count(task["unexplained_tokens"])))


def _numbers(task: Row) -> None:
    cards = cards_row(6)
    cards[0].metric(say("task.cost"), usd(task["total_cost_usd"]), help=say("task.cost_help"), border=True)
    cards[1].metric(
        say("columns.cost_multiplier"),
        times(task["cost_multiplier"]),
        help=say("task.multiplier_help"),
        border=True,
    )
    cards[2].metric(say("task.wait"), usd(task["wait_cost_usd"]), help=say("task.wait_help"), border=True)
    cards[3].metric(say("task.tokens"), count(task["total_tokens"]), border=True)
    cards[4].metric(say("task.calls"), count(task["llm_calls"]), border=True)
    cards[5].metric(say("task.duration"), duration(task["duration_s"]), border=True)


def _badges(task: Row) -> str:
    notes = [
        badge(str(task["status"]), colour("status", task["status"])),
        _known("usage_known", task["usage_known_ratio"]),
        _known("priced", task["priced_ratio"]),
        _known("gpu_steps", task["gpu_known_ratio"]),
    ]
    if task["provisional"]:
        notes.append(badge(say("task.provisional"), colour("provenance", "estimated")))
    low, high = task["token_cost_low_usd"], task["token_cost_high_usd"]
    if low != high and low is not None:
        notes.append(badge(say("task.band", low=usd(low), high=usd(high)), colour("provenance", "estimated")))
    counts = say(
        "task.counts",
        calls=count(task["llm_calls"]),
        retries=count(task["retries"]),
        loops=count(task["loops"]),
        tools=count(task["tool_calls"]),
        tool_retries=count(task["tool_retries"]),
    )
    return f'<div class="tx-badges">{"".join(notes)}</div><p class="tx-note">{counts}</p>'


def _known(name: str, ratio: float | None) -> str:
    if ratio is None:
        return ""
    shade = colour("provenance", "measured" if ratio >= 1 else "unknown")
    return badge(f"{say(f'shares.{name}')}: {share_text(ratio)}", shade, say(f"shares.{name}_help"))


def _timeline(screen: Screen, task: Row, steps: Sequence[Row]) -> None:
    st.subheader(say("task.timeline"))
    deployments = sorted({step["deployment"] for step in steps if step["deployment"]})
    window = _window(task)
    timeline: list[Row] = []
    series: list[Row] = []
    for deployment in deployments:
        timeline += screen.everywhere("gpu_timeline", deployment=deployment, **window)
        series += screen.everywhere("gpu_series", deployment=deployment, **_sampled(window))
    st.caption(say("task.timeline_note") if timeline else say("task.no_gpu"))
    span = (screen.wall.at(to_datetime(window["since_ns"])), screen.wall.at(to_datetime(window["until_ns"])))
    figure = trajectory(steps, series, timeline, screen.wall, gpu_names([*timeline, *series]), span=span)
    picture(figure, "trajectory", say("task.timeline"))


def _window(task: Row) -> dict[str, int]:
    start: datetime = task["started_at"]
    end: datetime = task["ended_at"] or start + timedelta(seconds=task["duration_s"] or 0)
    edge = max((end - start) * EDGE_SHARE, timedelta(seconds=1))
    return {"since_ns": _ns(start - edge), "until_ns": _ns(end + edge)}


def _ns(instant: datetime) -> int:
    return to_ns(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def _sampled(window: dict[str, int]) -> dict[str, int]:
    """Ask for so many points at most, and a minute beyond: a sample speaks for the time before it."""
    length_s = (window["until_ns"] - window["since_ns"]) // NS_PER_S
    beyond_ns = 60 * NS_PER_S
    return {
        "since_ns": window["since_ns"] - beyond_ns,
        "until_ns": window["until_ns"] + beyond_ns,
        "step_s": max(1, length_s // POINTS),
    }


def _buckets(buckets: Sequence[Row]) -> None:
    st.subheader(say("task.buckets"))
    st.html(bucket_table(buckets))
    st.caption(say("task.factors_note"))


def _steps(screen: Screen, steps: Sequence[Row]) -> None:
    st.subheader(say("task.steps"))
    st.dataframe(
        _listing(screen, steps),
        column_config=_columns(),
        hide_index=True,
        placeholder=UNKNOWN,
        height=min(36 * (len(steps) + 1) + 4, 520),
        key="steps",
        alt=say("task.steps"),
    )


def _listing(screen: Screen, steps: Sequence[Row]) -> pa.Table:
    ordered = sorted(steps, key=lambda step: step["started_at"])
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "started_at": (pa.timestamp("us"), [screen.wall.at(step["started_at"]) for step in ordered]),
        "kind": (pa.string(), [label("kinds", step["kind"]) for step in ordered]),
        "name": (pa.string(), [step_name(step) for step in ordered]),
        "model": (pa.string(), [step["model"] for step in ordered]),
        "deployment": (pa.string(), [step["deployment"] for step in ordered]),
        "status": (pa.string(), [step["status"] for step in ordered]),
        "attempt": (pa.int64(), [step["attempt"] for step in ordered]),
        "duration_s": (pa.float64(), [step["duration_s"] for step in ordered]),
        "ttft_s": (pa.float64(), [step["ttft_s"] for step in ordered]),
        "queue_s": (pa.float64(), [step["queue_s"] for step in ordered]),
        "input_tokens": (pa.int64(), [step["input_tokens"] for step in ordered]),
        "cache_read_tokens": (pa.int64(), [step["cache_read_tokens"] for step in ordered]),
        "output_tokens": (pa.int64(), [step["output_tokens"] for step in ordered]),
        "cost_usd": (pa.float64(), [_double(step["cost_usd"]) for step in ordered]),
        "provenance": (pa.string(), [_provenance(step) for step in ordered]),
        "price_source": (pa.string(), [step["price_source"] for step in ordered]),
        "thread": (pa.string(), [step["thread"] for step in ordered]),
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
    return pa.table({name: values for name, (_, values) in columns.items()}, schema=schema)


def _double(amount: Any) -> float | None:
    return None if amount is None else float(amount)


def _provenance(step: Row) -> str:
    names = (step["token_provenance"], step["cost_provenance"], step["gpu_provenance"])
    return ", ".join(dict.fromkeys(label("provenance", name) for name in names if name))


def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    seconds = {
        name: number(say(f"columns.{name}"), format="%.2f s") for name in ("duration_s", "ttft_s", "queue_s")
    }
    whole = ("attempt", "input_tokens", "cache_read_tokens", "output_tokens")
    texts = ("kind", "name", "model", "deployment", "status", "provenance", "price_source", "thread")
    return {
        "started_at": st.column_config.DatetimeColumn(say("columns.started_at"), format="HH:mm:ss.SSS"),
        "cost_usd": number(say("columns.cost_usd"), format="$%.6f"),
        **seconds,
        **{name: number(say(f"columns.{name}"), format="localized") for name in whole},
        **{name: say(f"columns.{name}") for name in texts},
    }


if __name__ == "__main__":
    draw(body)
