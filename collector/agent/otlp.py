"""Samples as an OTLP metrics request: one metric per kind of figure, the card in each point's attributes."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Metric,
    NumberDataPoint,
)

from collector.agent.binding import Card
from collector.agent.sampler import Sample

PREFIX = "taximeter.gpu."
SCOPE = "taximeter.agent"
SERVICE = "taximeter-agent"

_UNITS = {
    "up": "1",
    "util_ratio": "1",
    "memory_util_ratio": "1",
    "memory_total_mib": "MiBy",
    "memory_used_mib": "MiBy",
    "memory_reserved_mib": "MiBy",
    "power_w": "W",
    "power_limit_w": "W",
    "energy_j": "J",
    "processes": "{process}",
    "process_memory_mib": "MiBy",
}
_COUNTERS = {"energy_j"}  # grow until the driver is loaded again


def encode(samples: Iterable[Sample], resource: Mapping[str, str | bool], source: str = "nvml") -> bytes:
    """Make one ExportMetricsServiceRequest; `source` says who measured and goes to the scope."""
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(_pair(key, value) for key, value in resource.items())
    of_scope = of_resource.scope_metrics.add()
    of_scope.scope.name = SCOPE
    of_scope.scope.attributes.append(_pair("gpu.source", source))
    metrics: dict[str, Metric] = {}
    for sample in samples:
        metric = metrics.get(sample.metric)
        if metric is None:
            metric = metrics[sample.metric] = of_scope.metrics.add()
            metric.name, metric.unit = PREFIX + sample.metric, _UNITS[sample.metric]
        point = _points(metric, sample.metric).add()
        point.CopyFrom(_point_of(sample.card, sample.pid))
        point.time_unix_nano = sample.t_ns
        point.as_double = sample.value
    return request.SerializeToString()


def _points(metric: Metric, name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    if name not in _COUNTERS:
        return metric.gauge.data_points
    metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
    metric.sum.is_monotonic = True
    return metric.sum.data_points


@lru_cache(maxsize=4096)
def _point_of(card: Card, pid: int | None) -> NumberDataPoint:
    """Make the part of a point that never changes: what card, what process."""
    named: dict[str, str | int | None] = {
        "gpu.uuid": card.uuid,
        "gpu.bus_id": card.bus_id,
        "gpu.index": card.index,
        "gpu.name": card.name,
        "process.pid": pid,
    }
    point = NumberDataPoint()
    point.attributes.extend(_pair(key, value) for key, value in named.items() if value is not None)
    return point


def _pair(key: str, value: str | bool | int) -> KeyValue:  # noqa: FBT001
    if isinstance(value, bool):
        return KeyValue(key=key, value=AnyValue(bool_value=value))
    if isinstance(value, int):
        return KeyValue(key=key, value=AnyValue(int_value=value))
    return KeyValue(key=key, value=AnyValue(string_value=value))
