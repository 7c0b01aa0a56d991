"""Fixtures as senders send them: OTLP bytes in, decoded, loaded, refreshed once, and asked by report."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.decode import decode_block
from collector.decode.testing import OPTIONS, START_NS, make_record, make_request, make_span
from taximeter.clock import NS_PER_S
from taximeter.settings import Settings
from warehouse.testing import Store, store

Row = dict[str, Any]
Attributes = Mapping[str, Any]
LATER_NS = START_NS + 7 * 86_400 * NS_PER_S

IN, OUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
READ, WRITE = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"
TOTAL, COST = "gen_ai.usage.total_tokens", "gen_ai.usage.cost"
SONNET = {"gen_ai.request.model": "claude-sonnet-4-5", "gen_ai.provider.name": "anthropic"}
GPT = {"gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"}


def chat(number: int, at_s: float = 1, attributes: Attributes | None = None, **span: Any) -> Span:
    """Make a model call of Sonnet (another if the attributes name one) that takes a second, below span 1."""
    given = {"gen_ai.operation.name": "chat", **SONNET, **(attributes or {})}
    return _span(given, number, at_s, **{"name": "chat", **span})


def agent(number: int = 1, at_s: float = 0, attributes: Attributes | None = None, **span: Any) -> Span:
    """Make an agent span of 60 seconds; a root unless a parent is named."""
    given = {"gen_ai.operation.name": "invoke_agent", **(attributes or {})}
    return _span(given, number, at_s, **{"name": "agent", "parent": None, "took_s": 60, **span})


def tool(number: int, at_s: float, name: str, args: str, result: str = "done", **span: Any) -> Span:
    """Make a call of a tool with its arguments and result, below span 1."""
    given = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": args,
        "gen_ai.tool.call.result": result,
    }
    return _span(given, number, at_s, **{"name": name, **span})


def _span(given: Attributes, number: int, at_s: float, *, took_s: float = 1, **span: Any) -> Span:
    start_ns = START_NS + round(at_s * NS_PER_S)
    return make_span(
        given, number=number, start_ns=start_ns, duration_ns=round(took_s * NS_PER_S), **{"parent": 1, **span}
    )


class Case(NamedTuple):
    """One trace: requests of spans, in their order of arrival, and what their scope says."""

    requests: tuple[tuple[Span, ...], ...]
    scope: Mapping[str, Any]


def case(*spans: Span, **scope: Any) -> Case:
    """Make a case of one request."""
    return Case((spans,), scope)


class Seen(NamedTuple):
    """What the warehouse made of the cases."""

    warehouse: Store
    traces: dict[str, str]  # trace id by name of the case

    def task(self, name: str) -> Row:
        """Tell the row of the report `tasks`."""
        (row,) = self.rows("tasks", task_id=self.traces[name])
        return row

    def explained(self, name: str) -> dict[int, Row]:
        """Tell the rows of the report `explain`, by number of the span."""
        return {int(row["span_id"], 16): row for row in self.rows("explain", trace_id=self.traces[name])}

    def found(self, report: str, name: str) -> list[Row]:
        """Tell the rows of a report that are about one case."""
        return [row for row in self.rows(report) if row["task_id"] == self.traces[name]]

    def rows(self, report: str, **params: Any) -> list[Row]:
        """Answer a report."""
        rows: list[Row] = self.warehouse.report(report, **params).to_pylist()
        return rows


@contextmanager
def look(path: Path, cases: Mapping[str, Case], settings: Settings | None = None) -> Iterator[Seen]:
    """Load the n-th requests of all cases as the n-th block, with a refresh after each."""
    traces = {name: number for number, name in enumerate(cases, start=1)}
    with store(path, settings) as warehouse:
        for place in range(max(len(one.requests) for one in cases.values())):
            payloads = [
                request(traces[name], one.requests[place], one.scope)
                for name, one in cases.items()
                if place < len(one.requests)
            ]
            load(warehouse, *payloads)
            warehouse.refresh(LATER_NS)
        yield Seen(warehouse, {name: f"{number:032x}" for name, number in traces.items()})


def request(trace: int, spans: Sequence[Span], scope: Mapping[str, Any]) -> bytes:
    """Put spans into a trace and serialize their request."""
    moved = []
    for span in spans:
        copy = Span()
        copy.CopyFrom(span)
        copy.trace_id = trace.to_bytes(16, "big")
        moved.append(copy)
    return make_request(*moved, **scope)


def load(warehouse: Store, *payloads: bytes) -> None:
    """Decode requests as one block and load it."""
    warehouse.load(decode_block([make_record(payload) for payload in payloads], OPTIONS))
