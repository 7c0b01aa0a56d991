"""Flatten metric requests by walking protobuf objects: slow, obvious, the measure for the columnar one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue

from collector.decode.flat_metrics import POINTS_SCHEMA, WITH_SUM, FlatMetrics, Stream, temporality
from collector.decode.wide import plain_value


def flatten(payloads: Sequence[bytes]) -> FlatMetrics:
    """Flatten serialized metric requests.

    Raises:
        google.protobuf.message.DecodeError: a payload is not a metric request.
    """
    streams: list[Stream] = []
    attributes: list[Mapping[str, Any]] = []
    rows: list[tuple[Any, ...]] = []
    for record, payload in enumerate(payloads):
        for stream, points in _walk(ExportMetricsServiceRequest.FromString(payload)):
            for point in points:
                times = (point.start_time_unix_nano, point.time_unix_nano)
                where = (record, len(streams), len(attributes))
                rows.append((*where, *times, point.flags, *_figures(stream.kind, point)))
                attributes.append(attribute_values(point.attributes))
            streams.append(stream)
    return FlatMetrics(pl.DataFrame(rows, schema=POINTS_SCHEMA, orient="row"), streams, attributes)


def attribute_values(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    """Read attributes as plain values; of equal keys the first counts."""
    values: dict[str, Any] = {}
    for pair in pairs:
        values.setdefault(pair.key, plain_value(pair.value))
    return values


def scope_source(scope: InstrumentationScope) -> str | None:
    """Read who measured, where a scope says it for all of its metrics."""
    said = attribute_values(scope.attributes).get("gpu.source")
    return str(said) if said else None


def _walk(request: ExportMetricsServiceRequest) -> Iterator[tuple[Stream, Iterable[Any]]]:
    for of_resource in request.resource_metrics:
        resource = attribute_values(of_resource.resource.attributes)
        for of_scope in of_resource.scope_metrics:
            source = scope_source(of_scope.scope)
            for metric in of_scope.metrics:
                kind = metric.WhichOneof("data")
                if kind is None:
                    continue
                data: Any = getattr(metric, kind)
                stream = Stream(
                    resource=resource,
                    scope_name=of_scope.scope.name or None,
                    name=metric.name,
                    unit=metric.unit or None,
                    kind=kind,
                    temporality=temporality(getattr(data, "aggregation_temporality", 0)),
                    monotonic=data.is_monotonic if kind == "sum" else None,
                    scope_source=source,
                )
                yield stream, data.data_points


def _figures(kind: str, point: Any) -> tuple[float | None, int | None]:
    if kind in WITH_SUM:
        return (point.sum if kind == "summary" or point.HasField("sum") else None), point.count
    held = point.WhichOneof("value")
    return (float(getattr(point, held)) if held else None), None
