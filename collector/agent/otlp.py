"""Samples as an OTLP metrics request: one metric per kind of figure, the card in each point's attributes.

The agent's own figures go in the same request, as metrics of their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Gauge,
    NumberDataPoint,
    ScopeMetrics,
)

from collector.agent.binding import Card
from collector.agent.own import PREFIX as OWN_PREFIX
from collector.agent.own import OwnFigure
from collector.agent.sampler import Sample
from collector.agent.served import Served

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
    "process_sm_ratio": "1",
    "util_max_ratio": "1",
    "sm_active_ratio": "1",
    "tensor_active_ratio": "1",
    "dram_active_ratio": "1",
    "over_full_percent": "%",
    "module_power_w": "W",
    "xid": "1",
    "pcie_tx_kb_s": "kBy/s",
    "pcie_rx_kb_s": "kBy/s",
    "nvlink_tx_kib": "KiBy",
    "nvlink_rx_kib": "KiBy",
    "clock_offset_s": "s",
}
_COUNTERS = {"energy_j", "nvlink_tx_kib", "nvlink_rx_kib"}  # grow until the driver is loaded again

_FIXED64 = 1  # wire type
_TIME_TAG = NumberDataPoint.TIME_UNIX_NANO_FIELD_NUMBER << 3 | _FIXED64
_VALUE_TAG = NumberDataPoint.AS_DOUBLE_FIELD_NUMBER << 3 | _FIXED64
_TIME_AND_VALUE = Struct("<BQBd").pack


def encode(
    samples: Iterable[Sample],
    resource: Mapping[str, str | bool],
    source: str = "nvml",
    own: Sequence[OwnFigure] = (),
    own_times: tuple[int, int] = (0, 0),
) -> bytes:
    """Make one ExportMetricsServiceRequest; `source` says who measured and goes to the scope.

    `own` are figures of the agent itself; `own_times` are its start and now, in ns.
    """
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(_pair(key, value) for key, value in resource.items())
    of_scope = of_resource.scope_metrics.add()
    of_scope.scope.name = SCOPE
    of_scope.scope.attributes.append(_pair("gpu.source", source))
    for name, points in _points(samples).items():
        metric = of_scope.metrics.add(name=PREFIX + name, unit=_UNITS[name])
        if name in _COUNTERS:
            metric.sum.MergeFromString(b"".join(points))
            metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
            metric.sum.is_monotonic = True
        else:
            metric.gauge.MergeFromString(b"".join(points))
    if own:
        _add_own(of_scope, own, own_times)
    return request.SerializeToString()


def _add_own(of_scope: ScopeMetrics, own: Iterable[OwnFigure], times: tuple[int, int]) -> None:
    start_ns, now_ns = times
    for figure in own:
        metric = of_scope.metrics.add(name=OWN_PREFIX + figure.name, unit=figure.unit)
        point = NumberDataPoint(time_unix_nano=now_ns, as_double=figure.value)
        if figure.is_sum:
            point.start_time_unix_nano = start_ns
            metric.sum.data_points.append(point)
            metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
            metric.sum.is_monotonic = True
        else:
            metric.gauge.data_points.append(point)


def _points(samples: Iterable[Sample]) -> dict[str, list[bytes]]:
    """Serialize points by metric, as Gauge and Sum hold them: field 1, repeated.

    Written as bytes because a card's attributes are the same in each of its points: made once, they are
    copied, which takes a sixth of the time of building a message a point.
    """
    heads: dict[tuple[str, int, int | None, Served | None], bytes] = {}
    points: dict[str, list[bytes]] = {}
    for card, metric, t_ns, value, pid, served in samples:
        key = (card.uuid, card.index, pid, served)
        head = heads.get(key)
        if head is None:
            head = heads[key] = _head(card, pid, served)
        of_metric = points.get(metric)
        if of_metric is None:
            of_metric = points[metric] = []
        of_metric.append(head)
        of_metric.append(_TIME_AND_VALUE(_TIME_TAG, t_ns, _VALUE_TAG, value))
    return points


def _head(card: Card, pid: int | None, served: Served | None) -> bytes:
    """Serialize the part of a point that never changes, with the length of the whole point before it."""
    named: dict[str, str | int | None] = {
        "gpu.uuid": card.uuid,
        "gpu.bus_id": card.bus_id,
        "gpu.index": card.index,
        "gpu.name": card.name,
        "gpu.parent_uuid": card.parent_uuid,
        "gpu.slices": card.slices,
        "process.pid": pid,
        "served.port": served and served.port,
        "served.model": served and served.model,
        "k8s.workload": served and served.workload,
    }
    point = NumberDataPoint(time_unix_nano=1, as_double=1)
    point.attributes.extend(_pair(key, value) for key, value in named.items() if value is not None)
    whole = Gauge(data_points=[point]).SerializeToString()
    length = point.ByteSize()
    point.ClearField("time_unix_nano")
    point.ClearField("value")
    return whole[: len(whole) - length] + point.SerializeToString()


def _pair(key: str, value: str | bool | int) -> KeyValue:  # noqa: FBT001
    if isinstance(value, bool):
        return KeyValue(key=key, value=AnyValue(bool_value=value))
    if isinstance(value, int):
        return KeyValue(key=key, value=AnyValue(int_value=value))
    return KeyValue(key=key, value=AnyValue(string_value=value))
