"""Flatten trace requests in native code: protobuf bytes to Arrow without an object per span."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from collector.decode.flat import (
    ATTRIBUTES_SCHEMA,
    EVENTS_SCHEMA,
    LINKS_SCHEMA,
    SPANS_SCHEMA,
    FlatTraces,
)
from collector.decode.native import explode, make_handler, to_table

_REQUEST = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"
_AS_BYTES = {"AnyValue": {"array_value", "kvlist_value"}}
_KEPT = {
    "AnyValue": {"string_value", "bool_value", "int_value", "double_value", "array_value", "kvlist_value"},
    "KeyValue": {"key", "value"},
    "InstrumentationScope": {"name", "version", "attributes"},
    "Resource": {"attributes"},
    "Event": {"name", "attributes"},
    "Link": {"trace_id"},
    "Status": {"code"},
    "Span": {
        "trace_id",
        "span_id",
        "parent_span_id",
        "trace_state",
        "name",
        "kind",
        "start_time_unix_nano",
        "end_time_unix_nano",
        "attributes",
        "dropped_attributes_count",
        "events",
        "links",
        "status",
    },
}
_VALUES = {
    "text": "string_value",
    "flag": "bool_value",
    "whole": "int_value",
    "real": "double_value",
    "array": "array_value",
    "pairs": "kvlist_value",
}

_Level = tuple[pa.Array, pa.Array]  # of each element of the next level its row here, and the rows


def flatten(payloads: Sequence[bytes]) -> FlatTraces:
    """Flatten serialized trace requests; equal to `plain.flatten`, several times faster.

    Raises:
        ValueError: a payload is not a trace request; one bad payload fails them all.
    """
    batch = _handler().list_to_record_batch(list(payloads))
    record, resource_spans = explode(batch.column("resource_spans"))
    resource, scope_spans = explode(pc.struct_field(resource_spans, "scope_spans"))
    scope, spans = explode(pc.struct_field(scope_spans, "spans"))
    event_owner, events = explode(pc.struct_field(spans, "events"))
    link_owner, links = explode(pc.struct_field(spans, "links"))
    return FlatTraces(
        _spans(record, (resource, resource_spans), (scope, scope_spans), spans),
        _attributes(spans, []),
        _attributes(scope_spans, ["scope"]),
        _attributes(resource_spans, ["resource"]),
        to_table(
            EVENTS_SCHEMA,
            owner=event_owner,
            event=pa.array(range(len(events)), pa.uint32()),
            event_name=pc.struct_field(events, "name"),
        ),
        _attributes(events, []),
        to_table(LINKS_SCHEMA, owner=link_owner, trace_id=pc.struct_field(links, "trace_id")),
    )


def _spans(record: pa.Array, resources: _Level, scopes: _Level, spans: pa.Array) -> pl.DataFrame:
    resource, resource_spans = resources
    scope, scope_spans = scopes
    resource_of_span = pc.take(resource, scope)
    own_url = pc.take(pc.struct_field(scope_spans, "schema_url"), scope)
    resource_url = pc.take(pc.struct_field(resource_spans, "schema_url"), resource_of_span)
    names = pc.struct_field(scope_spans, ["scope", "name"])
    versions = pc.struct_field(scope_spans, ["scope", "version"])
    return to_table(
        SPANS_SCHEMA,
        record=pc.take(record, resource_of_span),
        resource=resource_of_span,
        scope=scope,
        trace_id=pc.struct_field(spans, "trace_id"),
        span_id=pc.struct_field(spans, "span_id"),
        parent_span_id=pc.struct_field(spans, "parent_span_id"),
        trace_state=pc.struct_field(spans, "trace_state"),
        name=pc.struct_field(spans, "name"),
        kind=pc.struct_field(spans, "kind"),
        start=pc.struct_field(spans, "start_time_unix_nano"),
        end=pc.struct_field(spans, "end_time_unix_nano"),
        status=pc.fill_null(pc.struct_field(spans, ["status", "code"]), 0),
        dropped_attributes=pc.struct_field(spans, "dropped_attributes_count"),
        scope_name=pc.fill_null(pc.take(names, scope), ""),
        scope_version=pc.fill_null(pc.take(versions, scope), ""),
        schema_url=pc.if_else(pc.not_equal(own_url, ""), own_url, resource_url),
    )


def _attributes(holders: pa.Array, path: list[str]) -> pl.DataFrame:
    owner, pairs = explode(pc.struct_field(holders, [*path, "attributes"]))
    value = pc.struct_field(pairs, "value")
    columns = {column: pc.struct_field(value, field) for column, field in _VALUES.items()}
    return to_table(ATTRIBUTES_SCHEMA, owner=owner, key=pc.struct_field(pairs, "key"), **columns)


@cache
def _handler() -> Any:
    return make_handler((common_pb2, resource_pb2, trace_pb2, trace_service_pb2), _REQUEST, _KEPT, _AS_BYTES)
