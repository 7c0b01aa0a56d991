"""Flatten by walking protobuf objects: slow, obvious, and the measure for the columnar flattener."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from collector.decode.flat import (
    ATTRIBUTES_SCHEMA,
    EVENTS_SCHEMA,
    LINKS_SCHEMA,
    SPANS_SCHEMA,
    FlatTraces,
)

_COLUMN = {
    "string_value": "text",
    "bool_value": "flag",
    "int_value": "whole",
    "double_value": "real",
    "array_value": "array",
    "kvlist_value": "pairs",
}
_NO_VALUE = dict.fromkeys(_COLUMN.values())


class _Rows:
    """What has been walked so far, one list of rows per table."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.attributes: list[dict[str, Any]] = []
        self.scope_attributes: list[dict[str, Any]] = []
        self.resource_attributes: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.event_attributes: list[dict[str, Any]] = []
        self.links: list[dict[str, Any]] = []
        self.resources = 0
        self.scopes = 0


def flatten(payloads: Sequence[bytes]) -> FlatTraces:
    """Flatten serialized trace requests; row numbers count over all of them.

    Raises:
        google.protobuf.message.DecodeError: a payload is not a trace request.
    """
    rows = _Rows()
    for record, payload in enumerate(payloads):
        _walk_request(rows, record, ExportTraceServiceRequest.FromString(payload))
    return FlatTraces(
        pl.DataFrame(rows.spans, schema=SPANS_SCHEMA),
        pl.DataFrame(rows.attributes, schema=ATTRIBUTES_SCHEMA),
        pl.DataFrame(rows.scope_attributes, schema=ATTRIBUTES_SCHEMA),
        pl.DataFrame(rows.resource_attributes, schema=ATTRIBUTES_SCHEMA),
        pl.DataFrame(rows.events, schema=EVENTS_SCHEMA),
        pl.DataFrame(rows.event_attributes, schema=ATTRIBUTES_SCHEMA),
        pl.DataFrame(rows.links, schema=LINKS_SCHEMA),
    )


def attribute_row(owner: int, pair: KeyValue) -> dict[str, Any]:
    """Write one attribute as a row of the attribute table."""
    return {"owner": owner, "key": pair.key, **_NO_VALUE, **_value(pair.value)}


def _value(value: AnyValue) -> dict[str, Any]:
    field = value.WhichOneof("value")
    column = _COLUMN.get(field or "")
    if column is None:
        return {}
    held = getattr(value, str(field))
    return {column: held.SerializeToString() if column in ("array", "pairs") else held}


def _attributes(owner: int, pairs: Iterable[KeyValue]) -> list[dict[str, Any]]:
    return [attribute_row(owner, pair) for pair in pairs]


def _walk_request(rows: _Rows, record: int, request: ExportTraceServiceRequest) -> None:
    for of_resource in request.resource_spans:
        rows.resource_attributes += _attributes(rows.resources, of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            rows.scope_attributes += _attributes(rows.scopes, of_scope.scope.attributes)
            where = {
                "record": record,
                "resource": rows.resources,
                "scope": rows.scopes,
                "scope_name": of_scope.scope.name,
                "scope_version": of_scope.scope.version,
                "schema_url": of_scope.schema_url or of_resource.schema_url,
            }
            for span in of_scope.spans:
                _walk_span(rows, where, span)
            rows.scopes += 1
        rows.resources += 1


def _walk_span(rows: _Rows, where: dict[str, Any], span: Any) -> None:
    owner = len(rows.spans)
    rows.spans.append(
        {
            **where,
            "trace_id": span.trace_id,
            "span_id": span.span_id,
            "parent_span_id": span.parent_span_id,
            "trace_state": span.trace_state,
            "name": span.name,
            "kind": span.kind,
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "status": span.status.code,
            "dropped_attributes": span.dropped_attributes_count,
        }
    )
    rows.attributes += _attributes(owner, span.attributes)
    for event in span.events:
        number = len(rows.events)
        rows.events.append({"owner": owner, "event": number, "event_name": event.name})
        rows.event_attributes += _attributes(number, event.attributes)
    rows.links += [{"owner": owner, "trace_id": link.trace_id} for link in span.links]
