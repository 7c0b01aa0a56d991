"""Log records that tell of a call, as spans: the same dialect reading, tables and models then serve both.

Such a span has no parent and ids of its own. Its trace is its prompt: a keyed hash of service, session and
prompt id, where there is no prompt id of the trace that the record names, else of the session alone. The
span is its request or tool call: a keyed hash of that id, else of the record's content, so that a record
that is sent twice is one span. It ends when it was told; how long it took is read later, as any figure is.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.decode.canonical import keyed_hash
from collector.dialects.read import Dialect
from collector.dialects.read_logs import log_sections

_RESOURCE = "resource:"
_TRACE_ID_BYTES = 16
_SPAN_ID_DIGITS = 16


class Told(NamedTuple):
    """A log record and what is known around it."""

    log: LogRecord
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]
    tenant: str
    t_ns: int


def call_span(told: Told, content_key: bytes) -> Span | None:
    """Make the span of a record that tells of a model call or a tool call; none of any other record."""
    service = str(told.resource.get("service.name") or "")
    said = str(told.log.event_name or told.attributes.get("event.name") or "")
    body = told.log.body.string_value  # often the whole name of the event
    for section in log_sections():
        name = section.full_name(said, service) or (body if body == section.prefix + said else None)
        if name:
            is_call = section.tells_of_call(name, told.attributes)
            return _span(told, name, section.dialect, content_key) if is_call else None
    return None


def _span(told: Told, name: str, dialect: Dialect, content_key: bytes) -> Span:
    def first(field: str) -> str | None:
        for entry in dialect.fields.get(field, ()):
            in_resource = entry.key.startswith(_RESOURCE)
            place = told.resource if in_resource else told.attributes
            value = place.get(entry.key.removeprefix(_RESOURCE) if in_resource else entry.key)
            if value not in (None, ""):
                return str(value)
        return None

    trace_id = told.log.trace_id if _is_trace_id(told.log.trace_id) else b""
    content = [name, told.t_ns, told.attributes]
    prompt = first("task_key") or trace_id.hex() or None
    session = first("session_id")
    where = [told.tenant, str(told.resource.get("service.name") or "")]
    group = [session, prompt] if session or prompt else content
    call = first("tool_call_id") or first("response_id")
    span = Span(
        trace_id=bytes.fromhex(keyed_hash(content_key, [*where, *group])),
        span_id=bytes.fromhex(keyed_hash(content_key, [name, call] if call else content)[:_SPAN_ID_DIGITS]),
        name=name,
        start_time_unix_nano=told.t_ns,
        end_time_unix_nano=told.t_ns,
        attributes=told.log.attributes,
        dropped_attributes_count=told.log.dropped_attributes_count,
    )
    if trace_id:
        span.links.add(trace_id=trace_id)
    return span


def _is_trace_id(held: bytes) -> bool:
    return len(held) == _TRACE_ID_BYTES and any(held)
