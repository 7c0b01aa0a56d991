"""One block of the journal to the tables of one block of the inbox."""

from collections.abc import Sequence

import pyarrow as pa
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.decode import columnar, plain
from collector.decode.fallback import flatten
from collector.decode.logs import read_logs
from collector.decode.metrics import read_metrics
from collector.decode.options import DecodeOptions
from collector.decode.refusals import undecodable
from collector.decode.spans import read_spans
from collector.journal.record import Record
from collector.sources.read import built_in
from warehouse.rows import SCHEMAS


def decode_block(records: Sequence[Record], options: DecodeOptions) -> dict[str, pa.Table]:
    """Decode the requests of one block: a table per kind of `warehouse.rows.SCHEMAS`, empty ones included.

    Never raises for what a request holds: a request that is no request of its signal becomes one row of
    `refused`, the others of the block are read. Rows of one request do not depend on the others.
    """
    traces, metrics, logs = (_of(records, signal) for signal in ("traces", "metrics", "logs"))
    parts: list[dict[str, pa.Table]] = []
    if traces:
        parts.append(_decode_traces(traces, options))
    if metrics:
        sources = built_in() if options.sources is None else options.sources
        parts.append(read_metrics(metrics, sources))
    if logs:
        parts.append(read_logs(logs, options))
    return {
        kind: pa.concat_tables([part[kind] for part in parts if kind in part] or [schema.empty_table()])
        for kind, schema in SCHEMAS.items()
    }


def _of(records: Sequence[Record], signal: str) -> list[Record]:
    return [record for record in records if record.signal == signal]


def _decode_traces(records: list[Record], options: DecodeOptions) -> dict[str, pa.Table]:
    readable, broken, flat = flatten(records, ExportTraceServiceRequest, columnar.flatten, plain.flatten)
    tables = read_spans(flat, readable, options)
    tables["refused"] = pa.concat_tables([tables["refused"], undecodable(broken)])
    return tables
