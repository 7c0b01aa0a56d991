"""Spans made from records that never were telemetry: logs of calls, spend rows, exported observations.

Ids come from what a record says of itself, so that the same record makes the same span whichever file holds
it. Attributes keep the record's own names; `collector/dialects/imported.toml` says what they mean.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.formats.parts import ITEMS_PER_PART, Bad, Part
from collector.formats.source import READ_ERRORS
from taximeter.clock import to_ns

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
_PAYLOAD_BYTES = 16 * 1024 * 1024  # content is long: a part ends there, however few spans it holds


class Source(NamedTuple):
    """Who wrote the records: the service that ran, and the scope by which a dialect knows them."""

    service: str
    scope: str


class Made(NamedTuple):
    """One span. Attributes that are None are left out; lists and objects become JSON text."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    failed: bool = False


def trace_id_of(*parts: Any) -> bytes:
    """Make the id of a trace from what names it."""
    return _digest(parts)[:TRACE_ID_BYTES]


def span_id_of(*parts: Any) -> bytes:
    """Make the id of a span from what names it."""
    return _digest(parts)[:SPAN_ID_BYTES]


def instant_ns(text: Any) -> int:
    """Read an ISO 8601 time, to the microsecond; one without a zone is UTC.

    Raises:
        ValueError: it is no time.
    """
    instant = datetime.fromisoformat(str(text).strip().removesuffix(" UTC"))
    return to_ns(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


class Drained(NamedTuple):
    """What an iterator of a file gave, and what it broke off with, if it did."""

    items: list[Any]
    error: Exception | None


def drain(items: Iterable[Any], limit: int | None = None) -> Drained:
    """Take up to `limit` items, all by default; a file that breaks off keeps what came before."""
    taken: list[Any] = []
    try:
        taken.extend(islice(items, limit))
    except READ_ERRORS as error:
        return Drained(taken, error)
    return Drained(taken, None)


def to_requests(source: Source, spans: Iterable[Made | Bad]) -> Iterator[Part | Bad]:
    """Gather spans into requests of bounded size; what could not be read passes through.

    Raises:
        BadInputError, OSError, EOFError, zstandard.ZstdError: what `spans` broke off with, after the rest.
    """
    gathered: list[Span] = []
    size_bytes = 0
    rest = iter(spans)
    while (taken := drain(rest, 1)).items:
        made = taken.items[0]
        if isinstance(made, Bad):
            yield made
            continue
        gathered.append(_span(made))
        size_bytes += gathered[-1].ByteSize()
        if len(gathered) == ITEMS_PER_PART or size_bytes > _PAYLOAD_BYTES:
            yield _part(source, gathered)
            gathered, size_bytes = [], 0
    if gathered:
        yield _part(source, gathered)
    if taken.error:
        raise taken.error


def _part(source: Source, spans: list[Span]) -> Part:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = source.service
    scope = resource.scope_spans.add()
    scope.scope.name = source.scope
    scope.spans.extend(spans)
    return Part("traces", request.SerializeToString(), len(spans))


def _span(made: Made) -> Span:
    span = Span(
        trace_id=made.trace_id,
        span_id=made.span_id,
        parent_span_id=made.parent_id,
        name=_clean(made.name),
        start_time_unix_nano=made.start_ns,
        end_time_unix_nano=made.end_ns,
    )
    if made.failed:
        span.status.code = Status.STATUS_CODE_ERROR
    span.attributes.extend(
        KeyValue(key=key, value=_value(value)) for key, value in made.attributes.items() if value is not None
    )
    return span


def _value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return AnyValue(int_value=value)
    if isinstance(value, float) and math.isfinite(value):
        return AnyValue(double_value=value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return AnyValue(string_value=_clean(text))


def _clean(text: str) -> str:
    """Text that protobuf takes: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _digest(parts: tuple[Any, ...]) -> bytes:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
