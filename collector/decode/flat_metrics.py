"""The flat form of metric requests: a row per point, beside the few streams and attribute sets they name.

Both flatteners make this form. Points of one card or one series repeat the same attributes, so each different
set is opened once; the walking flattener does not look for equals, which changes no row.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

POINTS_SCHEMA = pl.Schema(
    {
        "record": pl.UInt32,  # index of the request in the block
        "stream": pl.UInt32,  # index in `streams`
        "attributes": pl.UInt32,  # index in `attributes`
        "start": pl.UInt64,
        "t": pl.UInt64,
        "flags": pl.UInt32,
        "value": pl.Float64,  # of a histogram or a summary: its sum; null where the sender left it out
        "count": pl.UInt64,  # of a histogram or a summary, else null
    }
)
KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
WITH_SUM = frozenset({"histogram", "exponential_histogram", "summary"})
_TEMPORALITY = {1: "delta", 2: "cumulative"}


class Stream(NamedTuple):
    """What all points of one metric of one scope share."""

    resource: Mapping[str, Any]
    scope_name: str | None
    name: str
    unit: str | None
    kind: str
    temporality: str | None
    monotonic: bool | None
    scope_source: str | None = None  # who measured, where the scope says so for all of its metrics


class FlatMetrics(NamedTuple):
    """Points in the order of arrival, and what their `stream` and `attributes` stand for."""

    points: pl.DataFrame
    streams: list[Stream]
    attributes: list[Mapping[str, Any]]


def temporality(number: int) -> str | None:
    """Name an aggregation temporality; unspecified is null."""
    return _TEMPORALITY.get(number)
