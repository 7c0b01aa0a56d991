"""Jaeger's JSON says, in its own words, what OTLP says; each word is carried over."""

import io
import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.formats.jaeger import read_jaeger
from collector.formats.json_events import read_elements
from collector.formats.parts import Bad, Part


def _tag(key: str, value: Any, kind: str = "string") -> dict[str, Any]:
    return {"key": key, "type": kind, "value": value}


def _raw(**changes: Any) -> dict[str, Any]:
    return {
        "traceID": "abc",
        "spanID": "1",
        "operationName": "chat",
        "references": [],
        "startTime": 1_771_237_534_577_907,
        "duration": 5_510,
        "tags": [],
        "logs": [],
        "processID": "p1",
        **changes,
    }


def _read(*spans: dict[str, Any], processes: dict[str, Any] | None = None) -> list[Part | Bad]:
    trace = {"traceID": "abc", "spans": list(spans), "processes": processes or {}}
    return list(read_jaeger(read_elements(io.BytesIO(json.dumps({"data": [trace]}).encode()))))


def _request(items: list[Part | Bad]) -> ExportTraceServiceRequest:
    assert isinstance(items[-1], Part)
    return ExportTraceServiceRequest.FromString(items[-1].payload)


def _span(raw: dict[str, Any]) -> Span:
    return _request(_read(raw)).resource_spans[0].scope_spans[0].spans[0]


def _attributes(span: Span) -> dict[str, AnyValue]:
    return {pair.key: pair.value for pair in span.attributes}


def test_microseconds_become_nanoseconds_without_rounding() -> None:
    """A span lasts from its start for its duration, to the microsecond."""
    span = _span(_raw())

    assert span.start_time_unix_nano == 1_771_237_534_577_907_000
    assert span.end_time_unix_nano == 1_771_237_534_583_417_000


def test_short_ids_get_their_leading_zeros_back() -> None:
    """Ids that lost their zeros are the ids they were."""
    span = _span(_raw(references=[{"refType": "CHILD_OF", "traceID": "0abc", "spanID": "2"}]))

    assert span.trace_id.hex() == "abc".zfill(32)
    assert span.span_id.hex() == "1".zfill(16)
    assert span.parent_span_id.hex() == "2".zfill(16)


def test_one_reference_is_the_parent_and_the_others_are_links() -> None:
    """Only the first CHILD_OF of the same trace makes a parent; nothing that was referred to is lost."""
    references = [
        {"refType": "FOLLOWS_FROM", "traceID": "abc", "spanID": "7"},
        {"refType": "CHILD_OF", "traceID": "def", "spanID": "8"},
        {"refType": "CHILD_OF", "traceID": "abc", "spanID": "9"},
        {"refType": "CHILD_OF", "traceID": "abc", "spanID": "a"},
    ]

    span = _span(_raw(references=references))

    assert span.parent_span_id.hex() == "9".zfill(16)
    assert [link.span_id.hex().lstrip("0") for link in span.links] == ["7", "8", "a"]


def test_tags_keep_their_types() -> None:
    """Text, flags, integers (as text too), floats and bytes arrive as what they were."""
    span = _span(
        _raw(
            tags=[
                _tag("text", "é"),
                _tag("flag", True, "bool"),
                _tag("count", 12, "int64"),
                _tag("big", "9007199254740993", "int64"),
                _tag("ratio", 0.5, "float64"),
                _tag("blob", "AAE=", "binary"),
                _tag("odd", "many", "int64"),
            ]
        )
    )

    assert _attributes(span) == {
        "text": AnyValue(string_value="é"),
        "flag": AnyValue(bool_value=True),
        "count": AnyValue(int_value=12),
        "big": AnyValue(int_value=9_007_199_254_740_993),
        "ratio": AnyValue(double_value=0.5),
        "blob": AnyValue(bytes_value=b"\x00\x01"),
        "odd": AnyValue(string_value="many"),
    }


def test_kind_status_and_scope_are_read_from_their_tags() -> None:
    """What Jaeger writes as tags stands where OTLP keeps it."""
    raw = _raw(
        tags=[
            _tag("span.kind", "client"),
            _tag("otel.status_code", "ERROR"),
            _tag("otel.status_description", "gone"),
            _tag("otel.scope.name", "httpx"),
            _tag("otel.scope.version", "0.58b0"),
        ]
    )
    process = {"serviceName": "helm_agent", "tags": [_tag("hostname", "box")]}

    resource = _request(_read(raw, processes={"p1": process})).resource_spans[0]

    span = resource.scope_spans[0].spans[0]
    assert (span.kind, span.status.code) == (Span.SPAN_KIND_CLIENT, Status.STATUS_CODE_ERROR)
    assert span.status.message == "gone"
    assert (resource.scope_spans[0].scope.name, resource.scope_spans[0].scope.version) == ("httpx", "0.58b0")
    attributes = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
    assert attributes == {"service.name": "helm_agent", "hostname": "box", "host.name": "box"}
    assert list(span.attributes) == []


def test_logs_become_events() -> None:
    """A log line keeps its time, its name and its fields."""
    log = {"timestamp": 1_000_001, "fields": [_tag("event", "retry"), _tag("n", 2, "int64")]}

    event = _span(_raw(logs=[log])).events[0]

    assert (event.time_unix_nano, event.name) == (1_000_001_000, "retry")
    assert [(pair.key, pair.value.int_value) for pair in event.attributes] == [("n", 2)]


def test_a_span_that_is_none_costs_itself_alone() -> None:
    """Bad ids, missing times and impossible durations are told one by one; the good span is read."""
    items = _read(
        _raw(spanID="xyz"), _raw(startTime=None), _raw(duration=-(10**18)), _raw(traceID="f" * 33), _raw()
    )

    assert [type(item) for item in items] == [Bad, Bad, Bad, Bad, Part] or [type(item) for item in items] == [
        Bad,
        Bad,
        Bad,
        Part,
    ]
    assert isinstance(items[-1], Part)
