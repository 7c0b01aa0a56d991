"""Metric requests to rows: GPU measurements become `samples`, every other point `points`.

What points share (who, where, which series) is written once for each different series of the block.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow as pa
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.decode import columnar_metrics, plain_metrics
from collector.decode.fallback import flatten
from collector.decode.flat_metrics import FlatMetrics
from collector.decode.refusals import refusal, refused_table, undecodable
from collector.decode.series import (
    LONGEST_TEXT,
    foreign_metric,
    gpu_metric,
    of_foreign_samples,
    of_points,
    of_samples,
)
from collector.journal.record import Record
from collector.sources.read import Meaning
from warehouse.rows import POINTS, SAMPLES

_NO_RECORDED_VALUE = 1  # flag of a point whose sender has nothing to say
_LARGEST = (1 << 63) - 1  # of a BIGINT: in nanoseconds the year 2262
_FEW_BYTES = 32_768  # some 200 points: walking them costs less than setting up the columns
_NO_GPU = "bad_id"
_SIGNED = "clock_offset_s"
_KEYS = ("tenant_of", "stream", "attributes_of")
_OF_POINT = {"start_ns", "t_ns", "value", "count"}
_NO_SOURCES: Mapping[str, Meaning] = MappingProxyType({})
_HOW = {
    "is_sample": pl.Boolean(),
    "nobody": pl.Boolean(),
    "factor": pl.Float64(),
    "absent": pl.List(pl.Float64()),
}
_SERIES_SCHEMA = _HOW | {
    field.name: pl.Series(pa.nulls(0, field.type)).dtype
    for field in (*SAMPLES, *POINTS)
    if field.name not in _OF_POINT
}


def read_metrics(
    records: Sequence[Record], sources: Mapping[str, Meaning] = _NO_SOURCES
) -> dict[str, pa.Table]:
    """Make the tables `samples`, `points` and `refused` of metric requests.

    Other exporters' GPU metrics become samples where `sources` knows their names, else points.
    """
    walk = plain_metrics.flatten
    is_small = sum(len(record.payload) for record in records) < _FEW_BYTES
    native = walk if is_small else columnar_metrics.flatten
    readable, broken, flat = flatten(records, ExportMetricsServiceRequest, native, walk)
    tables = metric_rows(readable, flat, sources)
    return tables | {"refused": pa.concat_tables([tables["refused"], undecodable(broken)])}


def metric_rows(
    records: Sequence[Record], flat: FlatMetrics, sources: Mapping[str, Meaning] = _NO_SOURCES
) -> dict[str, pa.Table]:
    """Make the tables from flat points; records are in the order of `flat`."""
    if flat.points.is_empty():
        empty = {"samples": SAMPLES.empty_table(), "points": POINTS.empty_table()}
        return empty | {"refused": refused_table([])}
    points = _in_our_units(_with_series(records, flat, sources)).with_columns(reason=_why_not())
    taken = points.filter(pl.col("reason").is_null()).with_columns(
        start_ns=pl.when(pl.col("start") > 0).then(pl.col("start")), t_ns="t"
    )
    samples = taken.filter("is_sample", pl.col("value").is_not_null())
    return {
        "samples": _table(samples, SAMPLES),
        "points": _table(taken.filter(~pl.col("is_sample")), POINTS),
        "refused": refused_table(_refusals(points, records, flat)),
    }


def _with_series(
    records: Sequence[Record], flat: FlatMetrics, sources: Mapping[str, Meaning]
) -> pl.DataFrame:
    """Put beside each point that says anything what its series says; each series is described once."""
    tenants = pl.Series([record.tenant for record in records], dtype=pl.String)
    points = flat.points.filter(pl.col("flags") & _NO_RECORDED_VALUE == 0).select(
        pl.all().exclude("attributes"),
        pl.lit(tenants).gather(pl.col("record")).alias("tenant_of"),
        pl.col("attributes").alias("attributes_of"),
    )
    different = points.select(_KEYS).unique(maintain_order=True)
    rows = [_series(flat, sources, *keys) for keys in different.iter_rows()]
    series = different.hstack(pl.DataFrame(rows, schema=_SERIES_SCHEMA, orient="row"))
    return points.join(series, on=_KEYS, how="left", maintain_order="left")


def _in_our_units(points: pl.DataFrame) -> pl.DataFrame:
    """Drop what a source writes for "no value", keep what was sent, and turn the rest into our units."""
    is_none = pl.col("absent").list.contains(pl.col("value")).fill_null(value=False)
    return points.filter(~is_none).with_columns(
        sent=pl.col("value"), value=pl.col("value") * pl.col("factor").fill_null(1.0)
    )


def _series(
    flat: FlatMetrics, sources: Mapping[str, Meaning], tenant: str, number: int, attributes: int
) -> dict[str, Any]:
    stream, held = flat.streams[number], flat.attributes[attributes]
    is_ours = gpu_metric(stream.name) is not None
    reading = None if is_ours else foreign_metric(sources, stream, held)
    is_sample = is_ours or reading is not None
    if reading is not None:
        how = {"factor": reading.factor, "absent": list(reading.absent)}
        row = of_foreign_samples(tenant, stream, reading) | how
    else:
        row = (of_samples if is_ours else of_points)(tenant, stream, held)
    nobody = is_sample and row["gpu_uuid"] is None and row["bus_id"] is None and row["gpu_index"] is None
    return dict.fromkeys(_SERIES_SCHEMA) | row | {"is_sample": is_sample, "nobody": nobody}


def _why_not() -> pl.Expr:
    """Say why a point is refused; null where it is taken."""
    value, metric = pl.col("value"), pl.col("metric")
    positive = pl.col("is_sample") & (metric != _SIGNED)
    too_late = pl.max_horizontal("start", "t") > _LARGEST
    return (
        pl.when(~value.is_finite())
        .then(pl.lit("not_finite"))
        .when(positive & (value < 0))
        .then(pl.lit("negative"))
        .when(positive & metric.str.ends_with("_ratio") & (value > 1))
        .then(pl.lit("too_large"))
        .when(pl.col("t") == 0)
        .then(pl.lit("no_start"))
        .when(too_late | (pl.col("count") > _LARGEST))
        .then(pl.lit("too_large"))
        .when(pl.col("nobody") & value.is_not_null())
        .then(pl.lit(_NO_GPU))
    )


def _refusals(points: pl.DataFrame, records: Sequence[Record], flat: FlatMetrics) -> Iterator[dict[str, Any]]:
    refused = points.filter(pl.col("reason").is_not_null())
    for record, stream, value, reason in refused.select("record", "stream", "sent", "reason").iter_rows():
        if reason == _NO_GPU:
            yield refusal(records[record], reason, field="gpu.uuid")
        else:
            name = flat.streams[stream].name[:LONGEST_TEXT]
            yield refusal(records[record], reason, field=name, value=str(value))


def _table(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    return rows.select(schema.names).to_arrow().cast(schema)
