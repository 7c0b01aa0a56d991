"""Spans through the real SDK: one provider a service, exact times, ids from a seed, losses counted."""

import random
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from collector.demo.gpus import SIMULATED
from collector.demo.story import Agent

_QUEUE = 1 << 16  # a whole day fits: a full queue would drop spans
_BATCH = 512
_DELAY_MS = 500

# Scope and version as the instrumentations of these dialects name themselves.
_SCOPES = {
    "otel_genai": (
        "opentelemetry.instrumentation.openai_v2",
        "2.4b0",
        "https://opentelemetry.io/schemas/1.37.0",
    ),
    "openinference": ("openinference.instrumentation.openai_agents", "2.6.0", None),
    "claude_code": ("com.anthropic.claude_code.tracing", "2.0.0", None),
}


class SeededIds(IdGenerator):
    """Ids that are the same in every run with the same source of chance."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def generate_span_id(self) -> int:
        """Make a span id that is not zero."""
        return self._rng.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        """Make a trace id that is not zero."""
        return self._rng.getrandbits(128) or 1


class Counting(SpanExporter):
    """An exporter that counts what its inner one could not deliver, which the SDK only logs."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch and note how that went."""
        result = self._inner.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.failed += len(spans)
        return result

    def shutdown(self) -> None:
        """Close the inner exporter."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the inner exporter."""
        return self._inner.force_flush(timeout_millis)


class Tellers:
    """The instrumented services: a tracer each, which sends by the port that its agent uses."""

    def __init__(self, agents: Sequence[Agent], http_url: str, grpc_target: str, rng: random.Random) -> None:
        self._exporters: list[Counting] = []
        self._providers: list[TracerProvider] = []
        self._tracers: dict[str, Tracer] = {}
        for agent in agents:
            self._tracers[agent.service] = self._tracer(agent, http_url, grpc_target, rng)

    def tracer(self, agent: Agent) -> Tracer:
        """Give the tracer of an agent's service."""
        return self._tracers[agent.service]

    def flush(self) -> None:
        """Send everything that has ended."""
        for provider in self._providers:
            provider.force_flush()

    def close(self) -> int:
        """Send what is left and close; return how many spans could not be delivered."""
        for provider in self._providers:
            provider.shutdown()
        return sum(exporter.failed for exporter in self._exporters)

    def _tracer(self, agent: Agent, http_url: str, grpc_target: str, rng: random.Random) -> Tracer:
        inner = (
            GrpcExporter(endpoint=grpc_target, insecure=True)
            if agent.port == "grpc"
            else HttpExporter(endpoint=f"{http_url.rstrip('/')}/v1/traces", compression=Compression.Gzip)
        )
        exporter = Counting(inner)
        provider = TracerProvider(
            resource=Resource({"service.name": agent.service, "service.version": "1.4.0", SIMULATED: True}),
            sampler=ALWAYS_ON,
            id_generator=SeededIds(rng),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(
            BatchSpanProcessor(
                exporter, max_queue_size=_QUEUE, max_export_batch_size=_BATCH, schedule_delay_millis=_DELAY_MS
            )
        )
        self._exporters.append(exporter)
        self._providers.append(provider)
        name, version, schema_url = _SCOPES[agent.dialect]
        tracer = provider.get_tracer(name, version, schema_url)
        if not isinstance(tracer, Tracer):
            message = "the OpenTelemetry SDK is switched off by OTEL_SDK_DISABLED"
            raise TypeError(message)
        return tracer
