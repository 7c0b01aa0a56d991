"""The flat form of trace requests: a row per span, a row per attribute of it, its events, scope, resource.

Both flatteners make exactly these tables, so each can be held against the other.
"""

from typing import NamedTuple

import polars as pl

SPANS_SCHEMA = pl.Schema(
    {
        "record": pl.UInt32,  # index of the request in the block
        "resource": pl.UInt32,  # owner of the resource attributes
        "scope": pl.UInt32,  # owner of the scope attributes
        "trace_id": pl.Binary,
        "span_id": pl.Binary,
        "parent_span_id": pl.Binary,
        "trace_state": pl.String,
        "name": pl.String,
        "kind": pl.Int32,
        "start": pl.UInt64,
        "end": pl.UInt64,
        "status": pl.Int32,
        "dropped_attributes": pl.UInt32,
        "scope_name": pl.String,
        "scope_version": pl.String,
        "schema_url": pl.String,  # the scope's, else the resource's
    }
)

# Exactly one of the value columns is not null, none where the sender left the value out.
# Arrays and lists of pairs stay in their protobuf form: few are wanted, and those are opened later.
VALUE_SCHEMA = {
    "key": pl.String,
    "text": pl.String,
    "flag": pl.Boolean,
    "whole": pl.Int64,
    "real": pl.Float64,
    "array": pl.Binary,
    "pairs": pl.Binary,
}
ATTRIBUTES_SCHEMA = pl.Schema({"owner": pl.UInt32, **VALUE_SCHEMA})
EVENTS_SCHEMA = pl.Schema({"owner": pl.UInt32, "event": pl.UInt32, "event_name": pl.String})
LINKS_SCHEMA = pl.Schema({"owner": pl.UInt32, "trace_id": pl.Binary})


class FlatTraces(NamedTuple):
    """Spans in the order of arrival, and what belongs to them; `owner` is a row number of the table named."""

    spans: pl.DataFrame
    attributes: pl.DataFrame  # owner: row of spans
    scope_attributes: pl.DataFrame  # owner: spans.scope
    resource_attributes: pl.DataFrame  # owner: spans.resource
    events: pl.DataFrame  # owner: row of spans; event: number of the event, from 0
    event_attributes: pl.DataFrame  # owner: number of the event
    links: pl.DataFrame  # owner: row of spans


def empty_attributes() -> pl.DataFrame:
    """Make an attribute table without rows."""
    return pl.DataFrame(schema=ATTRIBUTES_SCHEMA)
