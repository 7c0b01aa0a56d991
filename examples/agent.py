"""A small agent on the plain OpenTelemetry SDK: two model calls, one failed attempt, one tool.

Start Taximeter (`taximeter up`), then run this file. No model is called: the spans are what a real
agent would send, in the GenAI semantic conventions, over OTLP/HTTP to OTEL_EXPORTER_OTLP_ENDPOINT
(http://127.0.0.1:4318 if that is not set).

    .venv/bin/python examples/agent.py
    .venv/bin/taximeter report tasks --since 5m
"""

import argparse
import time

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

MODEL = "gpt-5-mini"


def call_model(
    tracer: Tracer, input_tokens: int, cached_tokens: int, output_tokens: int, finish: str
) -> None:
    """Send the span of one model call that was answered."""
    with tracer.start_as_current_span(f"chat {MODEL}", kind=SpanKind.CLIENT) as span:
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": MODEL,
                "gen_ai.usage.input_tokens": input_tokens,
                "gen_ai.usage.cache_read.input_tokens": cached_tokens,
                "gen_ai.usage.output_tokens": output_tokens,
                "gen_ai.response.finish_reasons": [finish],
            }
        )
        time.sleep(0.05)


def call_model_in_vain(tracer: Tracer) -> None:
    """Send the span of an attempt that the provider turned away."""
    with tracer.start_as_current_span(f"chat {MODEL}", kind=SpanKind.CLIENT) as span:
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": MODEL,
                "error.type": "429",
            }
        )
        span.set_status(Status(StatusCode.ERROR))


def run_tool(tracer: Tracer) -> None:
    """Send the span of a tool run."""
    with tracer.start_as_current_span("execute_tool run_tests") as span:
        span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "run_tests"})
        time.sleep(0.2)


def run_task(tracer: Tracer) -> str:
    """Run one task and return its trace id."""
    with tracer.start_as_current_span("invoke_agent fix-the-build") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "fix-the-build"})
        call_model_in_vain(tracer)
        call_model(tracer, input_tokens=1_200, cached_tokens=0, output_tokens=80, finish="tool_calls")
        run_tool(tracer)
        call_model(tracer, input_tokens=1_900, cached_tokens=1_024, output_tokens=150, finish="stop")
        return format(root.get_span_context().trace_id, "032x")


def main() -> None:
    """Run some tasks and flush their spans."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=1, help="how many tasks to run")
    tasks = parser.parse_args().tasks
    provider = TracerProvider(resource=Resource.create({"service.name": "example-agent"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("examples.agent")
    for _ in range(tasks):
        print("task", run_task(tracer))
    provider.shutdown()


if __name__ == "__main__":
    main()
