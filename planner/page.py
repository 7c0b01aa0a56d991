"""A backtest as one HTML file that needs nothing else: front, states, lines of replicas, table."""

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.io import to_html

from planner import tables
from planner.backtest import Backtest, Result
from planner.states import STATES
from taximeter.clock import to_datetime
from taximeter.units import count, duration, share, usd

# Okabe and Ito's colours, which readers who see few colours can tell apart.
_COLOURS = dict(zip(STATES, ("#009E73", "#E69F00", "#D55E00", "#CC79A7", "#56B4E9", "#999999"), strict=True))
_LINES_AT_MOST = 6
_NAMES_AT_MOST = 3
_COLUMNS, _ROWS = 6, 12
_PLAIN = {"displayModeBar": False, "responsive": True}
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;width:100%;font-size:13px}th,td{padding:.3rem .5rem;text-align:right;
border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}.best{background:#e8f5ee}
.note{color:#555;font-size:13px}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
"""


def write(done: Backtest, notes: Sequence[str]) -> str:
    """Write the page; every saving stands beside its coverage and its calibration error."""
    load = done.case.workload
    begin = to_datetime(load.start_ns)
    title = f"Backtest of {load.deployment}"
    about = (
        f"{count(len(load.task_ids))} tasks, {count(load.served_steps)} calls, {duration(load.horizon_s)}"
        f" from {begin:%Y-%m-%d %H:%M} UTC; {load.kind}"
        + (f"; service times assumed: {load.assumed}" if load.assumed else "")
        + f"; {count(len(load.saturated_minutes))} saturated minutes, in which more may have been wanted"
    )
    figures = [_front(done), _states(done), _lines(done)]
    drawn = [
        to_html(
            figure, full_html=False, include_plotlyjs=number == 0, div_id=f"figure-{number}", config=_PLAIN
        )
        for number, figure in enumerate(figures)
    ]
    told = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1><p>{escape(tables.sentence(done))}</p>"
        f"<p class=note>{escape(about)}. All figures are simulated except those as recorded.</p>"
        f"<h2>Cost against added wait</h2>{drawn[0]}<h2>What the GPUs did</h2>{drawn[1]}"
        f"<h2>Replicas over time</h2>{drawn[2]}<h2>All policies</h2>{_table(done)}"
        f"<h2>What was taken for granted</h2><ul class=note>{told}</ul></body></html>\n"
    )


def _front(done: Backtest) -> go.Figure:
    figure = go.Figure()
    priced = all(result.outcome.cost_usd is not None for result in done.results)
    for on_front, label in ((True, "on the front: nothing is both cheaper and quicker"), (False, "others")):
        chosen = [
            r for r in done.results if r.is_on_front == on_front and r.outcome.added_wait.p95 is not None
        ]
        figure.add_scatter(
            x=[r.outcome.added_wait.p95 for r in chosen],
            y=[float(r.outcome.cost_usd or 0) if priced else r.outcome.billed_gpu_hours for r in chosen],
            text=_labels(chosen, done.results),
            customdata=[r.outcome.policy for r in chosen],
            hovertemplate="%{customdata}: %{x:.2f} s, %{y:.2f}<extra></extra>",
            mode="markers+text",
            textposition="top right" if on_front else "bottom right",
            name=label,
            marker={
                "size": 11,
                "color": "#0072B2" if on_front else "#999999",
                "symbol": "circle" if on_front else "x",
            },
        )
    limit = done.case.slo.added_wait_s
    figure.add_vline(
        x=limit, line_dash="dot", annotation_text=f"SLO {limit:g} s", annotation_position="bottom right"
    )
    return _calm(figure, "added wait of calls, p95 (s)", "cost (USD)" if priced else "billed GPU-hours", 420)


def _labels(chosen: Sequence[Result], everyone: Sequence[Result]) -> list[str]:
    """Name each point; of those that lie on one another the first carries the names of all."""
    told: dict[tuple[int, int], list[str]] = {}
    for result in everyone:
        told.setdefault(_spot(result, everyone), []).append(result.outcome.policy)
    labels = []
    for result in chosen:
        names = told[_spot(result, everyone)]
        is_first = names[0] == result.outcome.policy
        labels.append(_list_names(names) if is_first else "")
    return labels


def _list_names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_AT_MOST])
    return f"{shown} and {len(names) - _NAMES_AT_MOST} more" if len(names) > _NAMES_AT_MOST else shown


def _spot(result: Result, everyone: Sequence[Result]) -> tuple[int, int]:
    """Tell in which field of a grid of twelve rows a point lies."""
    waits = [one.outcome.added_wait.p95 or 0.0 for one in everyone]
    hours = [one.outcome.billed_gpu_hours for one in everyone]
    outcome = result.outcome
    return (
        round(_COLUMNS * (outcome.added_wait.p95 or 0.0) / (max(waits) or 1.0)),
        round(_ROWS * outcome.billed_gpu_hours / (max(hours) or 1.0)),
    )


def _states(done: Backtest) -> go.Figure:
    figure = go.Figure()
    rows: list[tuple[str, dict[str, float]]] = []
    if done.case.recorded.gpu_hours_by_state:
        rows.append(("as recorded", done.case.recorded.gpu_hours_by_state))
    rows += [(result.outcome.policy, result.outcome.gpu_hours_by_state) for result in done.results]
    for state in STATES:
        figure.add_bar(
            y=[name for name, _ in rows],
            x=[hours.get(state, 0.0) for _, hours in rows],
            name=state,
            orientation="h",
            marker_color=_COLOURS[state],
        )
    figure.update_layout(barmode="stack")
    figure.update_yaxes(autorange="reversed")
    return _calm(figure, "GPU-hours", "", 120 + 28 * len(rows))


def _lines(done: Backtest) -> go.Figure:
    figure = go.Figure()
    start = done.case.workload.start_ns
    shown: list[tuple[str, Sequence[tuple[float, int]]]] = []
    if done.case.recorded.line:
        shown.append(("as recorded", done.case.recorded.line))
    fronted = [result for result in done.results if result.is_on_front] or list(done.results)
    shown += [(result.outcome.policy, result.outcome.line) for result in fronted[:_LINES_AT_MOST]]
    for name, line in shown:
        figure.add_scatter(
            x=[to_datetime(start + round(instant * 1e9)) for instant, _ in line],
            y=[replicas for _, replicas in line],
            name=name,
            mode="lines",
            line_shape="hv",
        )
    return _calm(figure, "UTC", "replicas", 360)


def _calm(figure: go.Figure, x: str, y: str, height: int) -> go.Figure:
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"},
    )
    figure.update_xaxes(title=x, automargin=True)
    figure.update_yaxes(title=y, automargin=True)
    return figure


def _table(done: Backtest) -> str:
    heads = ("policy", "cost", "saving", "GPU-hours", "cold starts", "added wait p50", "p95", "p99",
             "per task p95", "within SLO", "calibration error", "coverage")  # fmt: skip
    lines = [f"<tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"]
    for row in tables.backtest_table(done).to_pylist():
        cells = _cells(row)
        mark = " class=best" if row["policy"] == done.cheapest else ""
        lines.append(f"<tr{mark}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    return f"<table>{''.join(lines)}</table><p class=note>Marked: the cheapest policy that keeps the SLO.</p>"


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["policy"],
        usd(row["cost_usd"]),
        share(row["saving_ratio"]),
        f"{row['gpu_hours']:,.2f}",
        count(row["cold_starts"]),
        *(duration(row[f"added_wait_s_{p}"]) for p in ("p50", "p95", "p99")),
        duration(row["task_added_wait_s_p95"]),
        share(row["slo_ratio"]),
        share(row["calibration_error_ratio"]),
        share(row["coverage_ratio"]),
    ]
