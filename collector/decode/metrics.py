"""Metric requests to rows: GPU measurements become `samples`, every other point `points`.

Metrics are few beside spans (some points a second per GPU), so protobuf objects are walked here.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from collector.decode.refusals import refusal, refused_table, undecodable
from collector.decode.wide import plain_value
from collector.journal.record import Record
from warehouse.rows import GPU_METRICS, POINTS, SAMPLES

_GPU_PREFIX = "taximeter.gpu."
_TEMPORALITY = {1: "delta", 2: "cumulative"}
_NO_RECORDED_VALUE = 1  # flag of a point whose sender has nothing to say
_LONGEST_TEXT = 200  # an attribute longer than this is no dimension and may hold content
_LATEST_NS = (1 << 63) - 1
_SIGNED = frozenset({"clock_offset_s"})
_WITH_SUM = frozenset({"histogram", "exponential_histogram", "summary"})


class _Stream(NamedTuple):
    """What all points of one metric of one scope share."""

    record: Record
    resource: Mapping[str, Any]
    scope_name: str | None
    name: str
    unit: str | None
    kind: str
    temporality: str | None
    monotonic: bool | None


class _Rows(NamedTuple):
    samples: list[dict[str, Any]]
    points: list[dict[str, Any]]
    refused: list[dict[str, Any]]


def read_metrics(records: Sequence[Record]) -> dict[str, pa.Table]:
    """Make the tables `samples`, `points` and `refused` of metric requests."""
    rows = _Rows([], [], [])
    broken = []
    for record in records:
        try:
            request = ExportMetricsServiceRequest.FromString(record.payload)
        except DecodeError:
            broken.append(record)
            continue
        for stream, point in _walk(record, request):
            _read_point(rows, stream, point)
    return {
        "samples": pa.Table.from_pylist(rows.samples, schema=SAMPLES),
        "points": pa.Table.from_pylist(rows.points, schema=POINTS),
        "refused": pa.concat_tables([refused_table(rows.refused), undecodable(broken)]),
    }


def attribute_values(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    """Read attributes as plain values; of equal keys the first counts."""
    values: dict[str, Any] = {}
    for pair in pairs:
        values.setdefault(pair.key, plain_value(pair.value))
    return values


def is_simulated(resource: Mapping[str, Any]) -> bool:
    """Tell whether a resource says that its data is simulated."""
    return str(resource.get("taximeter.simulated", "")).lower() == "true"


def _walk(record: Record, request: ExportMetricsServiceRequest) -> Iterator[tuple[_Stream, Any]]:
    for of_resource in request.resource_metrics:
        resource = attribute_values(of_resource.resource.attributes)
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                kind = metric.WhichOneof("data")
                if kind is None:
                    continue
                data = getattr(metric, kind)
                stream = _Stream(
                    record=record,
                    resource=resource,
                    scope_name=of_scope.scope.name or None,
                    name=metric.name,
                    unit=metric.unit or None,
                    kind=kind,
                    temporality=_TEMPORALITY.get(getattr(data, "aggregation_temporality", 0)),
                    monotonic=data.is_monotonic if kind == "sum" else None,
                )
                for point in data.data_points:
                    yield stream, point


def _read_point(rows: _Rows, stream: _Stream, point: Any) -> None:
    if point.flags & _NO_RECORDED_VALUE:
        return
    value = _value(stream.kind, point)
    attributes = attribute_values(point.attributes)
    metric = stream.name.removeprefix(_GPU_PREFIX)
    is_sample = stream.name.startswith(_GPU_PREFIX) and metric in GPU_METRICS
    reason = _why_not(value, metric if is_sample else None) or _why_not_then(point)
    if reason:
        rows.refused.append(
            refusal(stream.record, reason, field=stream.name[:_LONGEST_TEXT], value=str(value))
        )
    elif not is_sample:
        rows.points.append(_point(stream, point, value, attributes))
    elif value is not None:
        _add_sample(
            rows,
            stream,
            metric,
            {**_sample(stream, attributes), "t_ns": point.time_unix_nano, "value": value},
        )


def _value(kind: str, point: Any) -> float | None:
    if kind in _WITH_SUM:
        return point.sum if kind == "summary" or point.HasField("sum") else None
    held = point.WhichOneof("value")
    return float(getattr(point, held)) if held else None


def _why_not(value: float | None, gpu_metric: str | None) -> str | None:
    if value is None:
        return None
    if not math.isfinite(value):
        return "not_finite"
    if gpu_metric is None or gpu_metric in _SIGNED:
        return None
    if value < 0:
        return "negative"
    return "too_large" if gpu_metric.endswith("_ratio") and value > 1 else None


def _why_not_then(point: Any) -> str | None:
    if point.time_unix_nano == 0:
        return "no_start"
    return "too_large" if max(point.time_unix_nano, point.start_time_unix_nano) > _LATEST_NS else None


def _add_sample(rows: _Rows, stream: _Stream, metric: str, sample: dict[str, Any]) -> None:
    if sample["gpu_uuid"] is None and sample["bus_id"] is None and sample["gpu_index"] is None:
        rows.refused.append(refusal(stream.record, "bad_id", field="gpu.uuid"))
    else:
        rows.samples.append({**sample, "metric": metric})


def _sample(stream: _Stream, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tenant": stream.record.tenant,
        "host": _text(stream.resource.get("host.name")),
        "gpu_uuid": _text(attributes.get("gpu.uuid")),
        "bus_id": _text(attributes.get("gpu.bus_id")),
        "gpu_index": _whole(attributes.get("gpu.index")),
        "gpu_name": _text(attributes.get("gpu.name")),
        "source": _text(attributes.get("gpu.source")) or "nvml",
        "pid": _whole(attributes.get("process.pid")),
        "simulated": is_simulated(stream.resource),
    }


def _point(stream: _Stream, point: Any, value: float | None, attributes: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: held for key, held in attributes.items() if len(str(held)) <= _LONGEST_TEXT}
    row = {
        "tenant": stream.record.tenant,
        "host": _text(stream.resource.get("host.name")),
        "service_name": _text(stream.resource.get("service.name")),
        "scope_name": stream.scope_name,
        "metric": stream.name[:_LONGEST_TEXT],
        "unit": stream.unit,
        "kind": stream.kind,
        "temporality": stream.temporality,
        "monotonic": stream.monotonic,
        "attributes": json.dumps(kept, sort_keys=True, ensure_ascii=False, separators=(",", ":")),
        "simulated": is_simulated(stream.resource),
    }
    stream_hash = hashlib.blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).hexdigest()
    return row | {
        "stream_hash": stream_hash,
        "start_ns": point.start_time_unix_nano or None,
        "t_ns": point.time_unix_nano,
        "value": value,
        "count": point.count if stream.kind in _WITH_SUM else None,
    }


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)[:_LONGEST_TEXT]


def _whole(value: Any) -> int | None:
    """Read a small whole number, however it was sent; anything else is unknown."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else None  # noqa: PLR2004
