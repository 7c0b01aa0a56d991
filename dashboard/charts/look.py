"""What all pictures share: quiet axes, one legend place, hover that reads like a sentence."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import plotly.graph_objects as go

ROW_PX = 30
Span = tuple[datetime, datetime]


def calm(figure: go.Figure, height: int, *, legend: bool = True) -> go.Figure:
    """Give a figure the common look; `height` is in pixels."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=legend,
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0, "title": None},
        hoverlabel={"align": "left"},
        bargap=0.25,
        dragmode="zoom",
    )
    figure.update_xaxes(automargin=True, title_standoff=6)
    figure.update_yaxes(automargin=True, title_standoff=6)
    return figure


def cover(figure: go.Figure, span: Span | None) -> None:
    """Let the time axis cover the whole range of the page (naive wall times), so that gaps show as gaps."""
    if span:
        figure.update_xaxes(range=list(span))


def plain_bars(height_rows: int, extra_px: int = 60) -> int:
    """Give the height in pixels of a picture with so many rows."""
    return max(height_rows, 1) * ROW_PX + extra_px


def hover(template: str) -> Mapping[str, Any]:
    """Give the hover settings of a trace: the template alone, without Plotly's own trace name box."""
    return {"hovertemplate": template + "<extra></extra>"}
