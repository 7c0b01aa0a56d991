"""Pictures of GPU time: stacked by state over quarter-hours, and one strip per GPU."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.look import Span, calm, cover, hover, plain_bars
from dashboard.palette import colour, in_order
from dashboard.wall import Wall
from dashboard.words import label, say
from taximeter.units import duration

Row = dict[str, Any]
QUARTER = timedelta(minutes=15)
STATES_PX = 300


def state_stack(rows: Sequence[Row], wall: Wall, span: Span | None) -> go.Figure:
    """Stack GPU-hours per quarter-hour by state; unknown is hatched, so that it never looks like a state."""
    hours: dict[str, dict[datetime, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        hours[row["state"]][wall.at(row["quarter_at"])] += (row["gpu_s"] or 0.0) / 3600
    figure = go.Figure()
    for state in in_order("states", set(hours)):
        quarters = sorted(hours[state])
        figure.add_bar(
            x=quarters,
            offset=0,
            y=[hours[state][quarter] for quarter in quarters],
            width=QUARTER.total_seconds() * 1000,
            name=label("states", state),
            marker={"color": colour("states", state), "line_width": 0, "pattern_shape": _hatch(state)},
            **hover(label("states", state) + ": %{y:.2f} GPU-hours<br>from %{x|%b %d %H:%M}"),
        )
    calm(figure, STATES_PX)
    figure.update_layout(barmode="stack", bargap=0)
    figure.update_xaxes(title=say("axes.time", zone=wall.label), type="date")
    figure.update_yaxes(title=say("axes.gpu_hours"), rangemode="tozero")
    cover(figure, span)
    return figure


def state_strips(rows: Sequence[Row], wall: Wall, names: dict[str, str], span: Span | None) -> go.Figure:
    """Draw one strip per GPU, coloured by state; `names` gives the words for a GPU id."""
    figure = go.Figure()
    for trace in strip_bars(rows, wall, names):
        figure.add_trace(trace)
    shown = strip_names(rows, names)
    calm(figure, plain_bars(len(shown), 120))
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(title=say("axes.time", zone=wall.label), type="date")
    figure.update_yaxes(categoryorder="array", categoryarray=shown[::-1])
    cover(figure, span)
    return figure


def strip_names(rows: Sequence[Row], names: dict[str, str]) -> list[str]:
    """Name the strips, from the top down."""
    return sorted({names[row["gpu_id"]] for row in rows})


def strip_bars(rows: Sequence[Row], wall: Wall, names: dict[str, str]) -> Iterable[go.Bar]:
    """Make one bar trace per state over the stretches of the timeline, joined where they touch."""
    by_state: dict[str, list[Row]] = defaultdict(list)
    for row in joined(rows):
        by_state[row["state"]].append(row)
    for state in in_order("states", set(by_state)):
        stretches = by_state[state]
        yield go.Bar(
            y=[names[row["gpu_id"]] for row in stretches],
            base=[wall.at(row["started_at"]) for row in stretches],
            x=[_ms(row) for row in stretches],
            orientation="h",
            name=label("states", state),
            legendgroup=state,
            marker={"color": colour("states", state), "line_width": 0, "pattern_shape": _hatch(state)},
            customdata=[_told(row) for row in stretches],
            **hover(
                label("states", state) + "%{customdata[0]}<br>%{customdata[1]} from %{base|%b %d %H:%M:%S}"
                "<br>%{y} %{customdata[2]}"
            ),
        )


def mostly(ledger: Sequence[Row]) -> list[Row]:
    """Read one stretch per GPU and quarter-hour off the ledger: the state that took most of it.

    A stretch fills its quarter-hour even where the GPU was held for a part of it only.
    """
    held: dict[tuple[str, datetime], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    of_gpu: dict[str, Row] = {}
    for row in ledger:
        held[row["gpu_id"], row["quarter_at"]][row["state"]] += row["gpu_s"] or 0.0
        of_gpu.setdefault(row["gpu_id"], row)
    return [
        {
            "gpu_id": gpu_id,
            "deployment": of_gpu[gpu_id]["deployment"],
            "replica": of_gpu[gpu_id]["replica"],
            "state": max(states, key=lambda state: (states[state], state)),
            "cause": None,
            "provenance": None,
            "stalled": False,
            "started_at": quarter,
            "ended_at": quarter + QUARTER,
        }
        for (gpu_id, quarter), states in held.items()
    ]


def joined(rows: Sequence[Row]) -> list[Row]:
    """Join stretches of one GPU that touch and say the same: the timeline is cut at quarter-hours."""
    out: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["gpu_id"], row["started_at"])):
        last = out[-1] if out else None
        if last and last["ended_at"] == row["started_at"] and _same(last, row):
            out[-1] = last | {"ended_at": row["ended_at"]}
        else:
            out.append(row)
    return out


def _same(one: Row, other: Row) -> bool:
    return all(
        one[key] == other[key] for key in ("gpu_id", "state", "cause", "provenance", "replica", "stalled")
    )


def _ms(row: Row) -> float:
    length: timedelta = row["ended_at"] - row["started_at"]
    return length.total_seconds() * 1000


def _told(row: Row) -> tuple[str, str, str]:
    cause = f" ({label('causes', row['cause'])})" if row["cause"] else ""
    cause += f", {say('marks.stalled')}" if row["stalled"] else ""
    return (
        cause,
        duration(_ms(row) / 1000),
        label("provenance", row["provenance"]) if row["provenance"] else "",
    )


def _hatch(state: str) -> str:
    return "/" if state == "unknown" else ""
