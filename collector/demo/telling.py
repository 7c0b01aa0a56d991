"""What the dialects share: spans of a task that are started, each with the instant at which it ends."""

from collections.abc import Iterator, Mapping, Sequence

from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from collector.demo.plan import Agent, Call, Failure

Attributes = Mapping[str, AttributeValue]
Said = dict[str, AttributeValue]
Ending = tuple[int, Span]


class Telling:
    """Starts the spans of one task; `start_ns` is the instant that the plan's times count from."""

    def __init__(self, tracer: Tracer, start_ns: int) -> None:
        self._tracer = tracer
        self.start_ns = start_ns
        self.endings: list[Ending] = []

    def span(
        self,
        name: str,
        within: Span | None,
        times: tuple[int, int],
        attributes: Attributes,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        error: str | None = None,
        ok: bool = False,
    ) -> Span:
        """Start a span now and note its end; `error` is the text of its status."""
        from_ns, to_ns = times
        context = set_span_in_context(within) if within else None
        span = self._tracer.start_span(
            name, context, kind, attributes=attributes, start_time=self.start_ns + from_ns
        )
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, error))
        elif ok:
            span.set_status(Status(StatusCode.OK))
        self.endings.append((self.start_ns + to_ns, span))
        return span


def tries(call: Call) -> Iterator[Failure | Call]:
    """List the tries of a call in order, the answered one last."""
    yield from call.failures
    yield call


def own_gpu(call: Call) -> Said:
    """Say which copy of which deployment served a call; nothing for a model API."""
    if call.model.deployment is None:
        return {}
    said: Said = {"taximeter.deployment": call.model.deployment}
    if call.replica is not None:
        said["taximeter.replica"] = str(call.replica)
    return said


def own_calls(agent: Agent) -> Sequence[Call]:
    """List the calls of an agent itself, without those of its sub-agents."""
    return [step for step in agent.steps if isinstance(step, Call)]
