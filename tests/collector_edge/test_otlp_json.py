import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.journal.record import Signal
from collector.otlp_json import to_protobuf
from taximeter.errors import BadInputError

TRACE_ID = "5b8efff798038103d269b633813fc60c"
SPAN_ID = "eee19b7ec3c1b174"
SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")
RECORDED = Path(__file__).parents[2] / "../shared/data/otlp-agent-runs/kagent"


def span(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "chat", **fields}


def trace_request(**fields: Any) -> ExportTraceServiceRequest:
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [span(**fields)]}]}]}
    return ExportTraceServiceRequest.FromString(to_protobuf("traces", json.dumps(document).encode()))


def only_span(**fields: Any) -> Any:
    return trace_request(**fields).resource_spans[0].scope_spans[0].spans[0]


def test_ids_are_hex() -> None:
    """Ids are read as hex, in spans, parents and links, whatever the case of their digits."""
    read = only_span(parentSpanId=SPAN_ID.upper(), links=[{"traceId": TRACE_ID, "spanId": SPAN_ID}])
    assert (read.trace_id.hex(), read.span_id.hex(), read.parent_span_id.hex()) == (
        TRACE_ID,
        SPAN_ID,
        SPAN_ID,
    )
    assert (read.links[0].trace_id.hex(), read.links[0].span_id.hex()) == (TRACE_ID, SPAN_ID)


def test_ids_in_protobufs_own_json_form_are_read() -> None:
    """Some senders write base64 where hex is wanted: 16 and 8 bytes cannot be meant otherwise."""
    read = only_span(traceId="AAECAwQFBgcICQoLDA0ODw==", spanId="AAECAwQFBgc=")
    assert (read.trace_id, read.span_id) == (bytes(range(16)), bytes(range(8)))


@given(st.binary(min_size=1, max_size=20))
def test_ids_of_any_length_pass(raw: bytes) -> None:
    """The edge takes ids of the wrong length as they are; decode refuses them one by one."""
    assert only_span(traceId=raw.hex()).trace_id == raw


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers_are_strings_or_numbers(instant_ns: int, tokens: int) -> None:
    """64-bit integers mean the same as JSON strings and as JSON numbers, up to the last digit."""
    key = "gen_ai.usage.input_tokens"
    for write in (str, int):
        attribute = {"key": key, "value": {"intValue": write(tokens)}}
        read = only_span(startTimeUnixNano=write(instant_ns), attributes=[attribute])
        assert (read.start_time_unix_nano, read.attributes[0].value.int_value) == (instant_ns, tokens)


def test_an_attribute_named_like_an_id_is_left_alone() -> None:
    """Only the schema's id fields are hex: an attribute with such a key keeps its text."""
    attribute = {"key": "traceId", "value": {"stringValue": "not hex"}}
    assert only_span(attributes=[attribute]).attributes[0].value.string_value == "not hex"


def test_unknown_fields_are_ignored_and_enums_are_numbers_or_names() -> None:
    """What a newer sender adds does not break an older reader."""
    assert only_span(kind=3, brandNew={"a": [1]}).kind == only_span(kind="SPAN_KIND_CLIENT").kind == 3


def test_logs_and_metrics_have_hex_ids_too() -> None:
    """Log records and exemplars name their span in hex."""
    log = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": TRACE_ID, "spanId": SPAN_ID}]}]}]}
    logs = ExportLogsServiceRequest.FromString(to_protobuf("logs", json.dumps(log).encode()))
    assert logs.resource_logs[0].scope_logs[0].log_records[0].trace_id.hex() == TRACE_ID
    point = {"asDouble": 1.5, "exemplars": [{"spanId": SPAN_ID, "asInt": "4"}]}
    metric = {"name": "m", "gauge": {"dataPoints": [point]}}
    document = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}
    metrics = ExportMetricsServiceRequest.FromString(to_protobuf("metrics", json.dumps(document).encode()))
    read = metrics.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0]
    assert (read.as_double, read.exemplars[0].span_id.hex()) == (1.5, SPAN_ID)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"resourceSpans": 1}',
        b'{"resourceSpans": [1]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "secret-no-hex"}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "secret"}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": -1}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "secret\\ud800"}]}]}]}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        b"[" * 100_000,
        b'{"resourceSpans":' * 50_000,
    ],
)
def test_what_is_not_a_request_is_refused_without_quoting_it(body: bytes) -> None:
    """Anything that is not OTLP/JSON raises BadInputError, and its text holds nothing of the body."""
    with pytest.raises(BadInputError) as refused:
        to_protobuf("traces", body)
    assert "secret" not in str(refused.value)


def test_a_refusal_names_the_place() -> None:
    """The sender is told which field does not fit."""
    body = b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "x"}]}]}]}'
    with pytest.raises(BadInputError, match=r"resourceSpans.*startTimeUnixNano"):
        to_protobuf("traces", body)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    """Whatever is sent, it is a request or a BadInputError."""
    for signal in SIGNALS:
        with contextlib.suppress(BadInputError):
            assert isinstance(to_protobuf(signal, body), bytes)


def test_a_recording_loses_nothing() -> None:
    """A recorded run read as JSON and written as protobuf's own JSON is the same, ids apart."""
    files = sorted(RECORDED.glob("*.json")) if RECORDED.is_dir() else []
    recordings = [path for path in files if "resourceSpans" in path.read_text(encoding="utf-8")]
    if not recordings:
        pytest.skip("the recorded agent runs are not here")
    spans = 0
    for path in recordings:
        document = {"resourceSpans": json.loads(path.read_text(encoding="utf-8"))["resourceSpans"]}
        request = ExportTraceServiceRequest.FromString(to_protobuf("traces", json.dumps(document).encode()))
        sent = [s for r in document["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]
        got = [s for r in request.resource_spans for c in r.scope_spans for s in c.spans]
        assert [(s["traceId"], s["spanId"]) for s in sent] == [
            (s.trace_id.hex(), s.span_id.hex()) for s in got
        ]
        for before, after in zip(sent, got, strict=True):
            attributes = MessageToDict(after).get("attributes", [])
            assert [a["key"] for a in before.get("attributes", [])] == [a["key"] for a in attributes]
        spans += len(got)
    assert spans > 20
