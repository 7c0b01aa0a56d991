"""Requests made once, told apart by trace and session: the generator must cost less than what it measures."""

import gzip
import json

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.decode.testing import make_request, make_span

SPAN_BYTES = 700
_MARK = bytes(range(0xE0, 0xF0))  # stands for the trace id; no other field holds these bytes
_SESSION_MARK = b"the-session-mark"  # as long as the number that takes its place
_CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5-mini",
    "gen_ai.response.model": "gpt-5-mini-2025-08-07",
    "gen_ai.response.id": "resp-1",
    "gen_ai.conversation.id": _SESSION_MARK.decode(),
    "gen_ai.usage.input_tokens": 1310,
    "gen_ai.usage.output_tokens": 58,
    "gen_ai.usage.cache_read.input_tokens": 1024,
    "gen_ai.response.finish_reasons": ["tool_calls"],
    "server.address": "10.0.3.7",
    "server.port": 8000,
}
_TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.id": "call-1",
}
_HTTP = {
    "http.request.method": "POST",
    "url.full": "http://10.0.3.7:8000/v1",
    "http.response.status_code": 200,
}


class Bodies:
    """Bodies of `spans` spans, of `SPAN_BYTES` bytes a span as protobuf, each with a trace of its own."""

    def __init__(self, spans: int, *, as_json: bool, compressed: bool) -> None:
        """Make the one body that all others are copies of."""
        self.spans = spans
        self.headers = {"content-type": "application/json" if as_json else "application/x-protobuf"}
        self._compressed = compressed
        if compressed:
            self.headers["content-encoding"] = "gzip"
        payload = _payload(spans)
        self._made = _as_json(payload) if as_json else payload
        self._mark = _MARK.hex().encode() if as_json else _MARK
        self._as_json = as_json

    def __getitem__(self, number: int) -> bytes:
        """Make the body with trace `number`; the same number is the same body."""
        trace_id = (number + 1).to_bytes(16, "big")
        body = self._made.replace(self._mark, trace_id.hex().encode() if self._as_json else trace_id)
        body = body.replace(_SESSION_MARK, f"{number:016x}".encode())
        return gzip.compress(body, compresslevel=1) if self._compressed else body


def _payload(spans: int) -> bytes:
    kinds = (_CHAT, _TOOL, _HTTP)
    made = []
    for number in range(1, spans + 1):
        span = make_span(kinds[number % 3], number=number, kind="client")
        span.trace_id = _MARK
        short = SPAN_BYTES - span.ByteSize() - 20
        span.attributes.add(key="note").value.string_value = "x" * max(0, short)
        made.append(span)
    return make_request(*made, scope="agent", resource={"service.name": "bench"})


def _as_json(payload: bytes) -> bytes:
    document = MessageToDict(ExportTraceServiceRequest.FromString(payload), use_integers_for_enums=True)
    for of_resource in document["resourceSpans"]:
        for of_scope in of_resource["scopeSpans"]:
            for number, span in enumerate(of_scope["spans"], start=1):
                span |= {"traceId": _MARK.hex(), "spanId": f"{number:016x}"}
    return json.dumps(document).encode()
