"""The picture of a task: its steps on lanes, the utilization of its GPUs, and their states, on one clock."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.charts.look import ROW_PX, Span, calm, cover, hover
from dashboard.charts.states import strip_bars, strip_names
from dashboard.palette import colour, in_order
from dashboard.wall import Wall
from dashboard.words import label, say
from taximeter.units import count, duration, usd

Row = dict[str, Any]
UTIL_PX = 130
TITLE_PX = 28
EDGE_PX = 150
# A step is drawn at least this share of the whole wide, or it could not be seen or touched.
LEAST_SHARE = 0.003


def trajectory(
    steps: Sequence[Row],
    series: Sequence[Row],
    timeline: Sequence[Row],
    wall: Wall,
    names: dict[str, str],
    *,
    span: Span | None = None,
) -> go.Figure:
    """Draw a task; without GPU rows only its steps. `names` gives the words for a GPU id."""
    placed = lanes(steps)
    lane_names = list(dict.fromkeys(lane for lane, _ in placed))
    strips = strip_names(timeline, names)
    heights = [max(len(lane_names), 1) * ROW_PX]
    heights += [UTIL_PX, max(len(strips), 1) * ROW_PX] if strips or series else []
    figure = make_subplots(
        rows=len(heights),
        cols=1,
        shared_xaxes=True,
        row_heights=heights,
        vertical_spacing=0.1,
        subplot_titles=[say(f"axes.{name}") for name in ("steps", "utilization", "states")[: len(heights)]],
    )
    figure.update_annotations(x=0, xanchor="left", font_size=12)
    _add_steps(figure, placed, wall)
    if len(heights) > 1:
        _add_series(figure, series, wall, names)
        _add_strips(figure, timeline, wall, names, strips)
    calm(figure, sum(heights) + EDGE_PX)
    figure.update_layout(barmode="overlay", margin_t=TITLE_PX)
    figure.update_xaxes(type="date")
    cover(figure, span)
    figure.update_xaxes(title=say("axes.time", zone=wall.label), row=len(heights), col=1)
    figure.update_yaxes(categoryorder="array", categoryarray=lane_names[::-1], row=1, col=1)
    return figure


def lanes(steps: Sequence[Row]) -> list[tuple[str, Row]]:
    """Give each step a lane named by agent and kind; steps that run at once get lanes of their own."""
    ordered = sorted(steps, key=lambda step: (step["started_at"], step["step_id"]))
    lines = _lines(ordered)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for step in ordered:
        groups[lines[step["agent"], step["thread"]], step["kind"]].append(step)
    many = len(set(lines.values())) > 1
    placed: list[tuple[str, Row]] = []
    for (line, kind), members in groups.items():
        free_at: list[datetime] = []
        for step in members:
            number = next((i for i, free in enumerate(free_at) if free <= step["started_at"]), len(free_at))
            free_at[number : number + 1] = [_end(step)]
            name = f"{line} · {label('kinds', kind)}" if many else label("kinds", kind)
            placed.append((name + (f" ({number + 1})" if number else ""), step))
    return placed


def _lines(ordered: Sequence[Row]) -> dict[tuple[str | None, str | None], str]:
    """Name the line of each (agent, thread): the agent's name, numbered from its second thread on."""
    threads: dict[str | None, list[str]] = defaultdict(list)
    for step in ordered:
        if step["thread"] and step["thread"] not in threads[step["agent"]]:
            threads[step["agent"]].append(step["thread"])
    lines: dict[tuple[str | None, str | None], str] = {}
    for step in ordered:
        agent, thread = step["agent"], step["thread"]
        number = threads[agent].index(thread) + 1 if thread else 1
        name = agent or say("general.none")
        lines[agent, thread] = f"{name} {number}" if number > 1 else name
    return lines


def _end(step: Row) -> datetime:
    end: datetime = step["started_at"] + timedelta(seconds=step["duration_s"] or 0)
    return end


def _add_steps(figure: go.Figure, placed: Sequence[tuple[str, Row]], wall: Wall) -> None:
    if not placed:
        return
    whole = max(_end(step) for _, step in placed) - min(step["started_at"] for _, step in placed)
    least_ms = whole.total_seconds() * 1000 * LEAST_SHARE
    for kind in in_order("kinds", {step["kind"] for _, step in placed}):
        members = [(lane, step) for lane, step in placed if step["kind"] == kind]
        figure.add_bar(
            y=[lane for lane, _ in members],
            base=[wall.at(step["started_at"]) for _, step in members],
            x=[max((step["duration_s"] or 0) * 1000, least_ms) for _, step in members],
            orientation="h",
            name=label("kinds", kind),
            marker={
                "color": colour("kinds", kind),
                "line": {
                    "color": [_edge(step) for _, step in members],
                    "width": [2 if _failed(step) else 0 for _, step in members],
                },
                "pattern": {
                    "shape": ["/" if _extra(step) else "" for _, step in members],
                    "fillmode": "overlay",
                    "fgcolor": "white",
                },
            },
            customdata=[_told(step) for _, step in members],
            **hover(
                "%{customdata[0]}<br>%{customdata[1]} from %{base|%H:%M:%S.%L}<br>%{customdata[2]}"
                "<br>%{customdata[3]}"
            ),
            row=1,
            col=1,
        )
    _add_marks(figure, placed, wall)


def _add_marks(figure: go.Figure, placed: Sequence[tuple[str, Row]], wall: Wall) -> None:
    for name, chosen, symbol in (("failed", _failed, "x"), ("retry", _extra, "triangle-left")):
        marked = [(lane, step) for lane, step in placed if chosen(step)]
        if marked:
            figure.add_scatter(
                x=[wall.at(_end(step)) for _, step in marked],
                y=[lane for lane, _ in marked],
                mode="markers",
                name=say(f"marks.{name}"),
                marker={"symbol": symbol, "size": 9, "color": colour("general", "error")},
                customdata=[_told(step) for _, step in marked],
                **hover(say(f"marks.{name}") + ": %{customdata[0]}<br>%{customdata[2]}"),
                row=1,
                col=1,
            )


def _failed(step: Row) -> bool:
    return bool(step["status"] == "error")


def _extra(step: Row) -> bool:
    return bool((step["attempt"] or 1) > 1)


def _edge(step: Row) -> str:
    return colour("general", "error") if _failed(step) else colour("kinds", step["kind"])


def step_name(step: Row) -> str:
    """Name a step: a tool by its own name, anything else by its span's."""
    return str(step["tool_name"] or step["name"] or label("kinds", step["kind"]))


def _told(step: Row) -> tuple[str, str, str, str]:
    where = " on ".join(part for part in (step["model"], step["deployment"]) if part)
    tokens = f"{count(step['input_tokens'])} in, {count(step['output_tokens'])} out"
    usage = tokens if step["kind"] == "llm" else ""
    return (
        step_name(step),
        duration(step["duration_s"]),
        " · ".join(part for part in (where, usage) if part),
        f"{usd(step['cost_usd'])} · {step['status']}",
    )


def _add_series(figure: go.Figure, series: Sequence[Row], wall: Wall, names: dict[str, str]) -> None:
    by_gpu: dict[str, list[Row]] = defaultdict(list)
    for row in series:
        by_gpu[row["gpu_id"]].append(row)
    for gpu_id, points in sorted(by_gpu.items()):
        line = broken_line(points, wall)
        figure.add_scatter(
            x=[at for at, _ in line],
            y=[percent for _, percent in line],
            mode="lines",
            connectgaps=False,
            line={"shape": "vh", "width": 1.3, "color": colour("general", "line")},
            opacity=0.75,
            name=names[gpu_id],
            showlegend=False,
            **hover(f"{names[gpu_id]}<br>" + "%{y:.0f} % at %{x|%H:%M:%S}"),
            row=2,
            col=1,
        )
    figure.update_yaxes(range=[0, 105], ticksuffix=" %", row=2, col=1)


def broken_line(points: Sequence[Row], wall: Wall) -> list[tuple[datetime, float | None]]:
    """Read utilization in percent, broken where samples are missing: a gap is never drawn through.

    A gap is more than three times the usual distance of two samples.
    """
    ordered = sorted(points, key=lambda row: row["t_at"])
    steps = [later["t_at"] - earlier["t_at"] for earlier, later in pairwise(ordered)]
    usual = sorted(steps)[len(steps) // 2] if steps else timedelta.max
    line: list[tuple[datetime, float | None]] = []
    last: datetime | None = None
    for row in ordered:
        at, ratio = wall.at(row["t_at"]), row["util_ratio"]
        if last is not None and at - last > 3 * usual:
            line += [(last + usual, None), (at - usual, None)]
        line.append((at, None if ratio is None else ratio * 100))
        last = at
    return line


def _add_strips(
    figure: go.Figure, timeline: Sequence[Row], wall: Wall, names: dict[str, str], strips: Sequence[str]
) -> None:
    for trace in strip_bars(timeline, wall, names):
        figure.add_trace(trace, row=3, col=1)
    figure.update_yaxes(categoryorder="array", categoryarray=list(strips)[::-1], row=3, col=1)
