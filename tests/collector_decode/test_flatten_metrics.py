"""Metric rows are the same whether points were flattened natively or by walking objects."""

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.decode import columnar_metrics, plain_metrics
from collector.decode.metrics import metric_rows, read_metrics
from collector.decode.testing import START_NS, make_record, pairs

_NAMES = ("util_ratio", "power_w", "clock_offset_s", "no_such_metric")
_VALUES = (0.5, 0.0, -1.0, 2.0, math.nan, math.inf, None)
_SENT = st.sampled_from(["a", "", "7", 3, -3, 2.5, True, None, b"z", [1, "b"], "x" * 300])
_KEYS = st.sampled_from(["gpu.uuid", "gpu.bus_id", "gpu.index", "gpu.name", "process.pid", "model"])
_TIMES = st.sampled_from([0, START_NS, START_NS + 1, 2**63])
_POINT = st.tuples(
    _TIMES, _TIMES, st.sampled_from(_VALUES), st.sampled_from([0, 0, 1]), st.dictionaries(_KEYS, _SENT)
)
_KINDS = st.sampled_from(["gauge", "sum", "histogram", "exponential_histogram", "summary"])
_METRIC = st.tuples(
    st.sampled_from([*(f"taximeter.gpu.{name}" for name in _NAMES), "queue"]),
    _KINDS,
    st.sampled_from([0, 1, 2]),
    st.lists(_POINT, max_size=3),
)
_Metric = tuple[str, str, int, list[tuple[int, int, float | None, int, dict[str, Any]]]]


def _request(metrics: list[_Metric], simulated: Any = None) -> bytes:
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(pairs({"host.name": "h", "taximeter.simulated": simulated}))
    of_scope = of_resource.scope_metrics.add()
    for name, kind, temporality, points in metrics:
        data: Any = getattr(of_scope.metrics.add(name=name), kind)
        data.SetInParent()
        if kind not in ("gauge", "summary"):
            data.aggregation_temporality = temporality
        for start, t, value, flags, attributes in points:
            point = data.data_points.add(time_unix_nano=t, start_time_unix_nano=start, flags=flags)
            point.attributes.extend(pairs(attributes))
            if kind not in ("gauge", "sum"):
                point.count = 3
            if value is not None:
                setattr(point, "as_double" if kind in ("gauge", "sum") else "sum", value)
    return request.SerializeToString()


@given(
    st.lists(st.tuples(st.lists(_METRIC, max_size=4), st.sampled_from([None, True, "TRUE", 1])), max_size=3)
)
@settings(max_examples=60, deadline=None)
def test_points_of_every_kind_flatten_alike(requests: list[tuple[list[_Metric], Any]]) -> None:
    """Any points, impossible and empty ones too, give equal samples, points and refusals in equal order."""
    records = [make_record(_request(*request), "metrics") for request in requests]
    payloads = [record.payload for record in records]
    native = metric_rows(records, columnar_metrics.flatten(payloads))
    walked = metric_rows(records, plain_metrics.flatten(payloads))
    for kind, table in native.items():
        assert table.schema == walked[kind].schema
        assert str(table.to_pylist()) == str(walked[kind].to_pylist())


def test_each_point_keeps_the_card_it_names() -> None:
    """Points of several cards in turn are told apart, and one more attribute is another series."""
    sets = [{"gpu.uuid": "a"}, {"gpu.uuid": "b"}, {"gpu.uuid": "a"}, {"gpu.uuid": "a", "process.pid": 7}]
    points = [(0, START_NS, 0.5, 0, held) for held in sets]
    record = make_record(_request([("taximeter.gpu.power_w", "gauge", 0, points)]), "metrics")
    rows = read_metrics([record])["samples"].to_pylist()
    assert [(row["gpu_uuid"], row["pid"]) for row in rows] == [
        ("a", None),
        ("b", None),
        ("a", None),
        ("a", 7),
    ]


def test_a_count_beyond_a_bigint_is_refused_alone() -> None:
    """A count that no column can hold costs its own point and not the request."""
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="latency")
    metric.histogram.data_points.add(time_unix_nano=START_NS, count=2**64 - 1)
    metric.histogram.data_points.add(time_unix_nano=START_NS, count=5)
    tables = read_metrics([make_record(request.SerializeToString(), "metrics")])
    assert tables["points"]["count"].to_pylist() == [5]
    assert tables["refused"]["reason"].to_pylist() == ["too_large"]
