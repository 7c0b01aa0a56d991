"""Metric points and log records: what becomes a sample, a point, a log, a refusal."""

import json
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.decode.testing import START_NS, any_value, decode_rows, make_request, make_span, pairs
from warehouse.rows import SAMPLES

GPU = {"gpu.uuid": "GPU-1", "gpu.bus_id": "0000:01:00.0", "gpu.index": 0, "gpu.name": "NVIDIA L4"}
AGENT = {"host.name": "node-1", "service.name": "taximeter-agent"}


def _metrics(
    name: str, value: Any, attributes: dict[str, Any], *, resource: dict[str, Any] = AGENT, **point: Any
) -> bytes:
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(pairs(resource))
    of_scope = of_resource.scope_metrics.add()
    of_scope.scope.name = "taximeter.agent"
    metric = of_scope.metrics.add(name=name, unit="1")
    held = {"as_int": value} if isinstance(value, int) else {"as_double": value}
    metric.gauge.data_points.add(
        **{"time_unix_nano": START_NS, **held, **point}, attributes=pairs(attributes)
    )
    return request.SerializeToString()


def _read(payload: bytes, kind: str) -> list[dict[str, Any]]:
    return decode_rows(payload, kind=kind, signal="metrics")


def test_a_gpu_measurement_becomes_a_sample() -> None:
    """The metric's short name, the GPU's identity, the host, and null for what was not said."""
    (row,) = _read(_metrics("taximeter.gpu.util_ratio", 0.5, GPU), "samples")
    assert row == dict.fromkeys(SAMPLES.names) | {
        "tenant": "default",
        "host": "node-1",
        "gpu_uuid": "GPU-1",
        "bus_id": "0000:01:00.0",
        "gpu_index": 0,
        "gpu_name": "NVIDIA L4",
        "source": "nvml",
        "metric": "util_ratio",
        "t_ns": START_NS,
        "value": 0.5,
        "simulated": False,
    }


def test_simulated_data_says_so_on_every_signal() -> None:
    """The resource attribute marks samples, spans and logs, sent as a flag or as text."""
    for said in (True, "true"):
        mark = {**AGENT, "taximeter.simulated": said}
        (sample,) = _read(_metrics("taximeter.gpu.power_w", 70.0, GPU, resource=mark), "samples")
        (span,) = decode_rows(make_request(make_span(), resource=mark))
        assert sample["simulated"] is span["simulated"] is True


@pytest.mark.parametrize(
    ("value", "reason"), [(float("nan"), "not_finite"), (-0.1, "negative"), (42.0, "too_large")]
)
def test_an_impossible_utilization_is_refused(value: float, reason: str) -> None:
    """No sample is made of it, and the reason is told: 42 is a percentage, not a ratio."""
    payload = _metrics("taximeter.gpu.util_ratio", value, GPU)
    assert _read(payload, "samples") == []
    assert [row["reason"] for row in _read(payload, "refused")] == [reason]


def test_a_point_without_a_value_makes_no_row() -> None:
    """A sender that says it has no value gives neither a sample nor a zero."""
    payload = _metrics("taximeter.gpu.power_w", 0.0, GPU, flags=1)
    assert _read(payload, "samples") == _read(payload, "refused") == []


def test_a_gpu_without_identity_is_refused() -> None:
    """A measurement that names no GPU at all cannot be laid on one."""
    payload = _metrics("taximeter.gpu.power_w", 70.0, {})
    assert _read(payload, "samples") == []
    assert [row["reason"] for row in _read(payload, "refused")] == ["bad_id"]


def test_any_other_metric_becomes_a_point() -> None:
    """Attributes are sorted JSON without long texts; a stream is known by all but time and value."""
    long = "x" * 500
    one = _metrics("vllm:num_requests", 3, {"b": 1, "a": "x", "long": long})
    other = _metrics("vllm:num_requests", 4, {"a": "x", "b": 1}, time_unix_nano=START_NS + 1)
    (row,) = _read(one, "points")
    assert json.loads(row["attributes"]) == {"a": "x", "b": 1}
    assert (row["metric"], row["kind"], row["value"], row["start_ns"]) == (
        "vllm:num_requests",
        "gauge",
        3.0,
        None,
    )
    assert row["stream_hash"] == _read(other, "points")[0]["stream_hash"]
    assert (
        _read(_metrics("vllm:num_requests", 3, {"a": "y"}), "points")[0]["stream_hash"] != row["stream_hash"]
    )


def test_a_histogram_has_its_sum_and_count() -> None:
    """The value of a histogram is its sum, null where none was sent, and its temporality is kept."""
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="latency", unit="s")
    metric.histogram.aggregation_temporality = 1  # type: ignore[assignment]
    metric.histogram.data_points.add(
        time_unix_nano=START_NS, start_time_unix_nano=START_NS - 5, count=4, sum=2.5
    )
    metric.histogram.data_points.add(time_unix_nano=START_NS, count=4)
    rows = _read(request.SerializeToString(), "points")
    assert [(row["value"], row["count"], row["temporality"]) for row in rows] == [
        (2.5, 4, "delta"),
        (None, 4, "delta"),
    ]


def _logs(**record: Any) -> bytes:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add(**record)
    return request.SerializeToString()


def _log(**record: Any) -> dict[str, Any]:
    (row,) = decode_rows(_logs(**record), kind="logs", signal="logs")
    return row


def test_a_log_keeps_its_event_and_loses_its_body() -> None:
    """The event's name comes from its field or its attribute; of the body a length and a hash stay."""
    body = any_value({"content": "hello"})
    one = _log(time_unix_nano=START_NS, event_name="gen_ai.choice", body=body, trace_id=b"1" * 16)
    other = _log(time_unix_nano=START_NS, attributes=pairs({"event.name": "api_request", "session.id": "s"}))
    assert (one["event_name"], one["body_bytes"], len(one["body_hash"])) == ("gen_ai.choice", 19, 32)
    assert (other["event_name"], other["session_id"], other["body_bytes"]) == ("api_request", "s", None)
    assert (one["trace_id"], other["trace_id"]) == ("31" * 16, None)


def test_logs_that_say_something_else_have_another_hash() -> None:
    """Records that differ only in an attribute are two, the same record twice is one."""
    same = {"time_unix_nano": START_NS, "event_name": "e"}
    first = _log(**same, attributes=pairs({"n": 1}))
    assert first["row_hash"] == _log(**same, attributes=pairs({"n": 1}))["row_hash"]
    assert first["row_hash"] != _log(**same, attributes=pairs({"n": 2}))["row_hash"]


def test_a_log_without_a_time_has_the_time_it_was_seen() -> None:
    """Observed time, else the time of receipt; never 1970."""
    assert _log(observed_time_unix_nano=START_NS - 9)["t_ns"] == START_NS - 9
    assert _log()["t_ns"] == START_NS


def test_a_log_with_a_bad_id_is_kept_without_it() -> None:
    """A trace id of three bytes is refused, the record stays."""
    payload = _logs(time_unix_nano=START_NS, trace_id=b"abc")
    assert decode_rows(payload, kind="logs", signal="logs")[0]["trace_id"] is None
    (refused,) = decode_rows(payload, kind="refused", signal="logs")
    assert (refused["reason"], refused["field"], refused["signal"]) == ("bad_id", "trace_id", "logs")
