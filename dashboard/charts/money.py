"""Pictures of money: idle dollars by cause, and the way from one plain call to what was paid."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.look import calm, hover, plain_bars
from dashboard.palette import colour, in_order
from dashboard.words import explain, label, say
from taximeter.units import UNKNOWN, duration, usd

Row = dict[str, Any]
SINGLE_PASS = ("first_prompt", "answer")
# The order in which factors are taken away is the reverse of the order in which they are stacked here.
FACTORS = (
    "fresh_later",
    "intermediate_output",
    "reasoning",
    "resent_context",
    "tool_schema",
    "retried",
    "loop",
    "gpu_wait",
)


def idle_bars(rows: Sequence[Row]) -> go.Figure:
    """Draw one horizontal bar per cause (a ledger state), the dearest on top, split by deployment on hover.

    Causes whose cost is unknown have no bar; their GPU time is written instead.
    """
    totals = by_cause(rows)
    names = sorted(totals, key=lambda cause: totals[cause][0] or Decimal(0))
    figure = go.Figure()
    for cause in names:
        cost, gpu_s = totals[cause]
        figure.add_bar(
            y=[label("states", cause)],
            x=[0 if cost is None else float(cost)],
            orientation="h",
            marker_color=colour("states", cause),
            text=[usd(cost) if cost is not None else f"{UNKNOWN} ({duration(gpu_s)})"],
            textposition="outside",
            cliponaxis=False,
            name=cause,
            **hover(f"{explain('states', cause)}<br>{usd(cost)} for {duration(gpu_s)} of GPU time"),
        )
    calm(figure, plain_bars(len(names)), legend=False)
    top = max((float(cost or 0) for cost, _ in totals.values()), default=0.0)
    figure.update_xaxes(tickprefix="$", range=[0, top * 1.25 or 1], showgrid=True, nticks=5)
    return figure


def by_cause(rows: Sequence[Row]) -> dict[str, tuple[Decimal | None, float]]:
    """Sum cost and GPU-seconds per cause; a cost is None only where no row of the cause knows one."""
    totals: dict[str, tuple[Decimal | None, float]] = {}
    for row in rows:
        cost, gpu_s = totals.get(row["cause"], (None, 0.0))
        more = row["cost_usd"]
        cost = more if cost is None else cost + (more or 0)
        totals[row["cause"]] = (cost, gpu_s + (row["gpu_s"] or 0.0))
    return totals


def waterfall(rows: Sequence[Row]) -> go.Figure:
    """Draw the buckets of one group as a waterfall: single pass, what each factor adds, the total.

    Buckets without known cost have no bar. Each bar tells its factor.
    """
    bars = {row["bucket"]: row for row in rows if row["cost_usd"] is not None}
    single = sum((bars[name]["cost_usd"] for name in SINGLE_PASS if name in bars), Decimal(0))
    added = [name for name in FACTORS if name in bars and bars[name]["cost_usd"] != 0]
    steps: list[tuple[str, Decimal, Decimal, str, str]] = [
        (say("totals.single_pass"), Decimal(0), single, colour("buckets", "first_prompt"), usd(single))
    ]
    level = single
    for name in added:
        cost = bars[name]["cost_usd"]
        shown = f"+{usd(cost)}  {factor(bars[name]['factor_ratio'])}"
        steps.append((label("buckets", name), level, cost, colour("buckets", name), shown))
        level += cost
    steps.append((say("totals.total"), Decimal(0), level, colour("general", "total"), usd(level)))
    return _steps_figure(steps, level)


def _steps_figure(steps: Sequence[tuple[str, Decimal, Decimal, str, str]], top: Decimal) -> go.Figure:
    figure = go.Figure()
    for name, base, height, shade, text in steps:
        figure.add_bar(
            y=[name],
            x=[float(height)],
            base=[float(base)],
            orientation="h",
            marker_color=shade,
            text=[text],
            textposition="outside",
            cliponaxis=False,
            name=name,
            **hover(f"{name}<br>{text}"),
        )
    calm(figure, plain_bars(len(steps)), legend=False)
    figure.update_layout(barmode="overlay")
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(tickprefix="$", range=[0, float(top) * 1.45 or 1], nticks=5)
    return figure


def multiplier(rows: Sequence[Row], column: str = "factor_ratio") -> float | None:
    """Multiply the factors of one group; None where there are none or one of them is unknown."""
    factors = {row["bucket"]: row[column] for row in rows if row["bucket"] in FACTORS}
    single = [row for row in rows if row["bucket"] in SINGLE_PASS and row["tokens"]]
    if not single or any(factor is None for factor in factors.values()):
        return None
    product = 1.0
    for factor in factors.values():
        product *= float(factor)
    return product


def factor(ratio: float | None) -> str:
    """Write one factor of a multiplier: two decimals, since factors multiply; a dash if unknown."""
    return UNKNOWN if ratio is None else f"{ratio:,.2f}×"


def bucket_order(rows: Sequence[Row]) -> list[Row]:
    """Sort bucket rows in the order of the palette, the same on every page."""
    names = in_order("buckets", {row["bucket"] for row in rows})
    return sorted(rows, key=lambda row: names.index(row["bucket"]))
