"""Older and foreign names of the OTLP JSON form mean what the present names mean."""

import base64
import io
import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.formats.json_events import read_elements
from collector.formats.otlp_json import read_otlp, read_tempo
from collector.formats.parts import Bad, Part, to_parts

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


def _span(trace_id: str = TRACE_ID, span_id: str = SPAN_ID) -> dict[str, Any]:
    return {
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": span_id,
        "name": "chat",
        "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": "1700000000000000001",
        "endTimeUnixNano": 1700000001000000003,
    }


def _now(spans: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resource": {}, "scopeSpans": [{"scope": {"name": "lib"}, "spans": spans}]}


def _old(spans: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "resource": {},
        "instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "lib"}, "spans": spans}],
    }


def _request(items: list[Part | Bad]) -> ExportTraceServiceRequest:
    assert len(items) == 1
    assert isinstance(items[0], Part)
    return ExportTraceServiceRequest.FromString(items[0].payload)


def _otlp(document: dict[str, Any]) -> ExportTraceServiceRequest:
    return _request(list(read_otlp(read_elements(io.BytesIO(json.dumps(document).encode())))))


def _tempo(document: dict[str, Any]) -> ExportTraceServiceRequest:
    return _request(list(read_tempo(read_elements(io.BytesIO(json.dumps(document).encode())))))


def test_every_spelling_gives_the_same_request() -> None:
    """Scope or instrumentation library, resourceSpans or batches, hex or base64: one request."""
    expected = _otlp({"resourceSpans": [_now([_span()])]})
    base64_span = _span(
        base64.b64encode(bytes.fromhex(TRACE_ID)).decode(), base64.b64encode(bytes.fromhex(SPAN_ID)).decode()
    )

    assert expected.resource_spans[0].scope_spans[0].scope.name == "lib"
    assert expected.resource_spans[0].scope_spans[0].spans[0].end_time_unix_nano == 1700000001000000003
    assert _otlp({"resourceSpans": [_old([_span()])]}) == expected
    assert _otlp({"resource_spans": [_now([_span()])]}) == expected
    assert _tempo({"batches": [_old([base64_span])]}) == expected
    assert _tempo({"trace": {"resourceSpans": [_now([base64_span])]}}) == expected


def test_an_element_that_is_no_otlp_is_told_and_its_neighbour_read() -> None:
    """A resource entry with a field of the wrong kind costs that entry alone."""
    document = {"resourceSpans": [{"scopeSpans": "none"}, _now([_span()])]}

    items = list(read_otlp(read_elements(io.BytesIO(json.dumps(document).encode()))))

    assert [type(item) for item in items] == [Bad, Part]


def test_a_span_that_is_none_costs_itself_alone() -> None:
    """Among many spans of one resource, one with an id that is no hex is told; all others are read."""
    spans = [_span(span_id=f"{number:016x}") for number in range(1, 12)]
    spans[4]["traceId"] = "not hex"

    items = list(read_otlp(read_elements(io.BytesIO(json.dumps({"resourceSpans": [_now(spans)]}).encode()))))

    assert sum(item.items for item in items if isinstance(item, Part)) == 10
    assert [item.reason for item in items if isinstance(item, Bad)] == ["traceId is not hex"]


def test_a_long_request_is_cut_and_nothing_is_lost_or_moved() -> None:
    """Parts hold at most the limit, keep resource and scope, and together hold every span once, in order."""
    document = {"resourceSpans": [_now([_span(span_id=f"{number:016x}") for number in range(1, 26)])]}
    whole = _otlp(document)

    parts = list(to_parts("traces", whole.SerializeToString(), limit=10))

    assert [part.items for part in parts] == [10, 10, 5]
    requests = [ExportTraceServiceRequest.FromString(part.payload) for part in parts]
    spans = [span for request in requests for span in request.resource_spans[0].scope_spans[0].spans]
    assert spans == list(whole.resource_spans[0].scope_spans[0].spans)
    assert {request.resource_spans[0].scope_spans[0].scope.name for request in requests} == {"lib"}
