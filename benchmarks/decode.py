"""How many spans a second one core decodes: flattening both ways, and the whole way to rows.

Run: `python benchmarks/decode.py [SPANS]`. The spans are those of a small agent, a model call of every third.
"""

import sys
import time
from collections.abc import Callable

from collector.decode import columnar, decode_block, plain
from collector.decode.testing import OPTIONS, make_record, make_request, make_span

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
    "gen_ai.tool.call.arguments": '{"query":"invoices of May"}',
}
HTTP = {
    "http.request.method": "POST",
    "url.full": "http://10.0.3.7:8000/v1",
    "http.response.status_code": 200,
}


def make_payloads(spans: int) -> list[bytes]:
    """Make requests with that many spans in all."""
    numbers = range(1, spans + 1)
    made = [make_span((CHAT, TOOL, HTTP)[number % 3], number=number, kind="client") for number in numbers]
    batches = [made[start : start + SPANS_PER_REQUEST] for start in range(0, spans, SPANS_PER_REQUEST)]
    return [make_request(*batch, scope="agent", resource={"service.name": "bench"}) for batch in batches]


def measure(name: str, spans: int, work: Callable[[], object]) -> None:
    """Print the best of three runs, by the processor's own time."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    print(f"{name:28} {spans / min(seconds):>12,.0f} spans/s of one core")


def main() -> None:
    """Measure each step on its own and the whole way."""
    spans = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    payloads = make_payloads(spans)
    records = [make_record(payload) for payload in payloads]
    measure("flatten, native", spans, lambda: columnar.flatten(payloads))
    measure("flatten, walking objects", spans, lambda: plain.flatten(payloads))
    measure("requests to rows", spans, lambda: decode_block(records, OPTIONS))
    measure("one request of one span", 1, lambda: decode_block([make_record(make_payloads(1)[0])], OPTIONS))


if __name__ == "__main__":
    main()
