"""Log requests to rows: when, where, which event; of the body only its length and keyed hash.

A record that tells of a model call or a tool call is a row of `spans` as well.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.decode import plain
from collector.decode.canonical import Canonical, keyed_hash
from collector.decode.log_calls import Told, call_span
from collector.decode.options import DecodeOptions
from collector.decode.plain_metrics import attribute_values
from collector.decode.refusals import refusal, refused_table, undecodable
from collector.decode.series import is_simulated
from collector.decode.spans import read_spans
from collector.decode.wide import plain_value
from collector.journal.record import Record
from warehouse.rows import LOGS

_LONGEST = 200
_LATEST_NS = (1 << 63) - 1
_ID_BYTES = {"trace_id": 16, "span_id": 8}
_SESSIONS = ("session.id", "gen_ai.conversation.id", "conversation.id")


def read_logs(records: Sequence[Record], options: DecodeOptions) -> dict[str, pa.Table]:
    """Make the tables `logs`, `spans` (of records that tell of a call) and `refused` of log requests.

    A record without a time of its own has the time it was observed, else the time it was received. An id of
    the wrong length is refused alone: the record is kept without it.
    """
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    calls: list[tuple[Record, bytes]] = []
    broken = []
    for record in records:
        try:
            request = ExportLogsServiceRequest.FromString(record.payload)
        except DecodeError:
            broken.append(record)
            continue
        traces = _read(record, request, options.content_key, rows, refused)
        if traces.resource_spans:
            calls.append((record, traces.SerializeToString()))
    spans = read_spans(
        plain.flatten([payload for _, payload in calls]), [record for record, _ in calls], options, "log"
    )
    return {
        "logs": pa.Table.from_pylist(rows, schema=LOGS),
        "spans": spans["spans"],
        "refused": pa.concat_tables([refused_table(refused), spans["refused"], undecodable(broken)]),
    }


def _read(
    record: Record,
    request: ExportLogsServiceRequest,
    content_key: bytes,
    rows: list[dict[str, Any]],
    refused: list[dict[str, Any]],
) -> ExportTraceServiceRequest:
    """Add the rows of a request; return the calls that it tells of, as a trace request."""
    traces = ExportTraceServiceRequest()
    for of_resource in request.resource_logs:
        resource = attribute_values(of_resource.resource.attributes)
        for of_scope in of_resource.scope_logs:
            where = _where(record, resource, of_scope.scope.name)
            spans = []
            for log in of_scope.log_records:
                attributes = attribute_values(log.attributes)
                row = _row(log, attributes, where, content_key)
                rows.append(row)
                refused += _bad_ids(log, record)
                told = Told(log, attributes, resource, record.tenant, row["t_ns"])
                spans += [span for span in [call_span(told, content_key)] if span]
            if spans:
                made = traces.resource_spans.add(resource=of_resource.resource)
                made.scope_spans.add(scope=of_scope.scope, spans=spans, schema_url=of_scope.schema_url)
    return traces


def _where(record: Record, resource: Mapping[str, Any], scope_name: str) -> dict[str, Any]:
    return {
        "received_ns": record.received_ns,
        "tenant": record.tenant,
        "service_name": _text(resource.get("service.name")),
        "scope_name": _text(scope_name),
        "simulated": is_simulated(resource),
    }


def _row(
    log: Any, attributes: Mapping[str, Any], where: Mapping[str, Any], content_key: bytes
) -> dict[str, Any]:
    times = (log.time_unix_nano, log.observed_time_unix_nano, where["received_ns"])
    row = {
        **where,
        "t_ns": next(time for time in times if 0 < time <= _LATEST_NS or time == times[-1]),
        "trace_id": _id(log.trace_id, "trace_id"),
        "span_id": _id(log.span_id, "span_id"),
        "event_name": _text(log.event_name or attributes.get("event.name")),
        "severity": log.severity_number or None,
        "session_id": next((_text(attributes[key]) for key in _SESSIONS if attributes.get(key)), None),
        "body_bytes": None,
        "body_hash": None,
    }
    if log.HasField("body"):
        body = Canonical(plain_value(log.body))
        row |= {"body_bytes": body.size_bytes, "body_hash": keyed_hash(content_key, body.text)}
    said = {name: value for name, value in row.items() if name != "received_ns"}
    # Records that differ only in attributes are different records, so the hash covers them, keyed.
    said["attributes"] = keyed_hash(content_key, attributes)
    text = json.dumps(said, sort_keys=True)
    return row | {"row_hash": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}


def _bad_ids(log: Any, record: Record) -> list[dict[str, Any]]:
    sent = {field: getattr(log, field) for field in _ID_BYTES}
    return [
        refusal(record, "bad_id", field=field, value=f"{len(held)} bytes")
        for field, held in sent.items()
        if held and len(held) != _ID_BYTES[field]
    ]


def _id(held: bytes, field: str) -> str | None:
    return held.hex() if len(held) == _ID_BYTES[field] and any(held) else None


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)[:_LONGEST]
