"""Flatten metric requests in native code; each different set of attributes is opened once."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from collector.decode.flat_metrics import KINDS, POINTS_SCHEMA, WITH_SUM, FlatMetrics, Stream, temporality
from collector.decode.native import explode, make_handler
from collector.decode.plain_metrics import attribute_values, scope_source

_REQUEST = "opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest"
_OF_POINT = {"attributes", "start_time_unix_nano", "time_unix_nano", "flags"}
_OF_HISTOGRAM = _OF_POINT | {"count", "sum", "min", "max"}  # optional ones all, they share their presence
_KEPT = {
    "ResourceMetrics": {"resource", "scope_metrics"},
    "ScopeMetrics": {"scope", "metrics"},
    "Metric": {"name", "unit", *KINDS},
    "NumberDataPoint": _OF_POINT | {"as_double", "as_int"},
    "HistogramDataPoint": _OF_HISTOGRAM,
    "ExponentialHistogramDataPoint": _OF_HISTOGRAM,
    "SummaryDataPoint": _OF_POINT | {"count", "sum"},
}
_AS_BYTES = {
    "ResourceMetrics": {"resource"},
    "ScopeMetrics": {"scope"},
    **{name: {"attributes"} for name in _KEPT if name.endswith("DataPoint")},
}
_WITH_TEMPORALITY = frozenset({"sum", "histogram", "exponential_histogram"})

_Form = TypeVar("_Form", KeyValue, Resource, InstrumentationScope)


class _Head(NamedTuple):
    """A metric as it was sent, without its points."""

    resource: bytes
    scope: bytes
    name: str
    unit: str
    kind: str
    temporality: int
    grows: bool


def flatten(payloads: Sequence[bytes]) -> FlatMetrics:
    """Flatten serialized metric requests; gives the rows of `plain_metrics.flatten`, many times faster.

    Raises:
        ValueError: a payload is not a metric request; one bad payload fails them all.
    """
    batch = _handler().list_to_record_batch(list(payloads))
    record, resources = explode(batch.column("resource_metrics"))
    resource, scopes = explode(pc.struct_field(resources, "scope_metrics"))
    scope, metrics = explode(pc.struct_field(scopes, "metrics"))
    resource_of_metric = pc.take(resource, scope)
    held = _heads(
        metrics,
        pc.take(pc.struct_field(resources, "resource"), resource_of_metric),
        pc.take(pc.struct_field(scopes, "scope"), scope),
    )
    numbers: dict[_Head, int] = {}
    stream_of_metric = [numbers.setdefault(one, len(numbers)) for one in held]
    streams = [_stream(one) for one in numbers]
    points, attributes = _with_attributes(pl.concat([_points(metrics, kind) for kind in KINDS]))
    of_metric = pl.DataFrame(
        {
            "metric": pl.int_range(len(metrics), dtype=pl.UInt32, eager=True),
            "record": pl.Series(pc.take(record, resource_of_metric), dtype=pl.UInt32),
            "stream": pl.Series(stream_of_metric, dtype=pl.UInt32),
        }
    )
    placed = points.join(of_metric, on="metric", how="left", maintain_order="left")
    return FlatMetrics(placed.select(POINTS_SCHEMA.names()), streams, attributes)


def _heads(metrics: pa.Array, resources: pa.Array, scopes: pa.Array) -> list[_Head]:
    """Say of each metric what its points share; a metric without data keeps an empty kind."""
    names, units = (pc.struct_field(metrics, name).to_pylist() for name in ("name", "unit"))
    kinds, numbers, grows = [""] * len(metrics), [0] * len(metrics), [False] * len(metrics)
    for kind in KINDS:
        data = pc.struct_field(metrics, kind)
        for index in pc.indices_nonzero(data.is_valid()).to_pylist():
            kinds[index] = kind
            held = data[index]
            numbers[index] = held["aggregation_temporality"].as_py() if kind in _WITH_TEMPORALITY else 0
            grows[index] = held["is_monotonic"].as_py() if kind == "sum" else False
    return list(map(_Head, resources.to_pylist(), scopes.to_pylist(), names, units, kinds, numbers, grows))


def _points(metrics: pa.Array, kind: str) -> pl.DataFrame:
    metric, points = explode(pc.struct_field(metrics, [kind, "data_points"]))
    columns = {name: pl.Series(pc.struct_field(points, name)) for name in ("attributes", "flags")}
    columns["start"] = pl.Series(pc.struct_field(points, "start_time_unix_nano"))
    columns["t"] = pl.Series(pc.struct_field(points, "time_unix_nano"))
    if kind in WITH_SUM:
        columns["value"] = pl.Series(pc.struct_field(points, "sum"))
        columns["count"] = pl.Series(pc.struct_field(points, "count"))
    else:
        whole = pc.struct_field(points, "as_int").cast(pa.float64(), safe=False)
        columns["value"] = pl.Series(pc.coalesce(pc.struct_field(points, "as_double"), whole))
        columns["count"] = pl.Series(pa.nulls(len(points), pa.uint64()))
    return pl.DataFrame({"metric": pl.Series(metric), **columns})


def _with_attributes(points: pl.DataFrame) -> tuple[pl.DataFrame, list[Mapping[str, Any]]]:
    """Number the different attribute sets and open each once; points come back in the order of metrics."""
    different = points.select(sent=pl.col("attributes").unique(maintain_order=True))
    opened: list[Mapping[str, Any]] = [_opened(pairs) for pairs in different["sent"]]
    numbered = different.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("attributes"), "sent")
    return (
        points.rename({"attributes": "sent"})
        .join(numbered, on="sent", how="left", maintain_order="left")
        .drop("sent")
        .sort("metric", maintain_order=True),
        opened,
    )


def _opened(pairs: Iterable[bytes]) -> dict[str, Any]:
    return attribute_values(_message(KeyValue, pair) for pair in pairs)


def _stream(sent: _Head) -> Stream:
    scope = _message(InstrumentationScope, sent.scope)
    return Stream(
        resource=attribute_values(_message(Resource, sent.resource).attributes),
        scope_name=scope.name or None,
        name=sent.name,
        unit=sent.unit or None,
        kind=sent.kind,
        temporality=temporality(sent.temporality),
        monotonic=sent.grows if sent.kind == "sum" else None,
        scope_source=scope_source(scope),
    )


def _message(form: type[_Form], held: bytes) -> _Form:
    try:
        return form.FromString(held)
    except DecodeError as error:
        message = "bytes inside of a metric request are no message"
        raise ValueError(message) from error


@cache
def _handler() -> Any:
    modules = (common_pb2, resource_pb2, metrics_pb2, metrics_service_pb2)
    return make_handler(modules, _REQUEST, _KEPT, _AS_BYTES)
