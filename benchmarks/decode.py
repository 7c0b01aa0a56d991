"""What decode costs in processor time: flattening both ways, the way to rows, small blocks, metrics, JSON.

Run: `python benchmarks/decode.py [SPANS]`. The spans are those of a small agent, a model call of every third.
"""

import json
import sys
import time
from collections.abc import Callable

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.decode import columnar, decode_block, plain
from collector.decode.testing import OPTIONS, START_NS, make_record, make_request, make_span, pairs
from collector.otlp_json import to_protobuf

SPANS_PER_REQUEST = 512
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5-mini",
    "gen_ai.response.model": "gpt-5-mini-2025-08-07",
    "gen_ai.response.id": "resp-1",
    "gen_ai.conversation.id": "conversation-1",
    "gen_ai.usage.input_tokens": 1310,
    "gen_ai.usage.output_tokens": 58,
    "gen_ai.usage.cache_read.input_tokens": 1024,
    "gen_ai.response.finish_reasons": ["tool_calls"],
    "gen_ai.response.time_to_first_chunk": 0.41,
    "server.address": "10.0.3.7",
    "server.port": 8000,
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.id": "call-1",
}
ARGUMENTS = {"gen_ai.tool.call.arguments": '{"query":"invoices of May"}'}
POINTS_PER_REQUEST = 2_000
CARDS = 8
GPU_METRICS = ("util_ratio", "memory_used_mib", "power_w", "energy_j", "up")
HTTP = {
    "http.request.method": "POST",
    "url.full": "http://10.0.3.7:8000/v1",
    "http.response.status_code": 200,
}


def make_payloads(spans: int, *, content: bool = True) -> list[bytes]:
    """Make requests with that many spans in all; with content, tool calls carry their arguments."""
    kinds = (CHAT, TOOL | ARGUMENTS if content else TOOL, HTTP)
    made = [make_span(kinds[number % 3], number=number, kind="client") for number in range(1, spans + 1)]
    batches = [made[start : start + SPANS_PER_REQUEST] for start in range(0, spans, SPANS_PER_REQUEST)]
    return [make_request(*batch, scope="agent", resource={"service.name": "bench"}) for batch in batches]


def make_samples(points: int) -> bytes:
    """Make a metric request with that many GPU measurements, of several cards in turn."""
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(pairs({"host.name": "node"}))
    of_scope = of_resource.scope_metrics.add()
    for name in GPU_METRICS:
        metric = of_scope.metrics.add(name=f"taximeter.gpu.{name}")
        for point in range(points // len(GPU_METRICS)):
            card = point % CARDS
            held = pairs({"gpu.uuid": f"GPU-{card}", "gpu.index": card, "gpu.name": "NVIDIA H100 80GB HBM3"})
            at_ns = START_NS + point // CARDS * 1_000_000_000
            metric.gauge.data_points.add(time_unix_nano=at_ns, as_double=0.5, attributes=held)
    return request.SerializeToString()


def make_json(payload: bytes) -> bytes:
    """Write a trace request as OTLP/JSON, ids in hex."""
    document = MessageToDict(ExportTraceServiceRequest.FromString(payload))
    for of_resource in document["resourceSpans"]:
        for of_scope in of_resource["scopeSpans"]:
            for number, span in enumerate(of_scope["spans"], start=1):
                span |= {"traceId": f"{1:032x}", "spanId": f"{number:016x}"}
    return json.dumps(document).encode()


def measure(name: str, count: int, unit: str, work: Callable[[], object]) -> None:
    """Print the best of three runs, by the processor's own time."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    print(f"{name:36} {min(seconds) * 1_000:>9,.1f} ms {count / min(seconds):>12,.0f} {unit}/s of one core")


def main() -> None:
    """Measure each step on its own and the whole way."""
    spans = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    payloads = make_payloads(spans)
    records = [make_record(payload) for payload in payloads]
    bare = [make_record(payload) for payload in make_payloads(spans, content=False)]
    one = [make_record(make_payloads(1)[0])]
    samples = [make_record(make_samples(POINTS_PER_REQUEST), "metrics") for _ in range(110)]
    tick = [make_record(make_samples(CARDS * len(GPU_METRICS)), "metrics")]
    document = make_json(payloads[0])
    measure("flatten, native", spans, "spans", lambda: columnar.flatten(payloads))
    measure("flatten, walking objects", spans, "spans", lambda: plain.flatten(payloads))
    measure("requests to rows", spans, "spans", lambda: decode_block(records, OPTIONS))
    measure("requests to rows, without content", spans, "spans", lambda: decode_block(bare, OPTIONS))
    measure("one request of one span", 1, "spans", lambda: decode_block(one, OPTIONS))
    measure("220,000 GPU points", 220_000, "points", lambda: decode_block(samples, OPTIONS))
    measure("one look at 8 GPUs", 40, "points", lambda: decode_block(tick, OPTIONS))
    in_document = min(spans, SPANS_PER_REQUEST)
    measure("OTLP/JSON to protobuf", in_document, "spans", lambda: to_protobuf("traces", document))


if __name__ == "__main__":
    main()
