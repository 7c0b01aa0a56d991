"""Span rows for tests: each test names the few columns that matter, the rest is told as a decoder would."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from taximeter.clock import NS_PER_S
from warehouse.rows import DECODER_VERSION, SPANS

START_NS = 1_790_000_000 * NS_PER_S
TRACE = "a" * 32
_UNTOLD = {"received_ns", "filled", "row_hash"}

Row = dict[str, Any]


def span(name: str, start_s: float, end_s: float, *, parent: str | None = None, **columns: Any) -> Row:
    """Make one span row.

    Args:
        name: the span's name; its id is made from it, so that `parent` can name another span of the trace.
        start_s: when it started, in seconds after `START_NS`.
        end_s: when it ended, likewise.
        parent: name of the parent; none for a root.
        columns: any column of `warehouse.rows.SPANS`; what is not named is absent.
    """
    row: Row = {
        "trace_id": TRACE,
        "span_id": span_id(name),
        "parent_span_id": span_id(parent) if parent is not None else None,
        "start_ns": START_NS + round(start_s * NS_PER_S),
        "end_ns": START_NS + round(end_s * NS_PER_S),
        "received_ns": START_NS + round(end_s * NS_PER_S),
        "name": name,
        "status": "unset",
        "tenant": "default",
        "dialect": "otel_genai",
        "role": "other",
        "simulated": False,
        **columns,
    }
    told = {key: value for key, value in row.items() if key not in _UNTOLD and value is not None}
    return {
        **row,
        "filled": len(told),
        "row_hash": hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest()[:32],
    }


def llm(name: str, start_s: float, end_s: float, **columns: Any) -> Row:
    """Make a model call: `tokens=(input, output)` sets both; a model is named unless another is."""
    tokens = columns.pop("tokens", None)
    if tokens is not None:
        columns = {"input_tokens": tokens[0], "output_tokens": tokens[1], **columns}
    return span(name, start_s, end_s, **{"role": "llm", "model_requested": "gpt-4o", **columns})


def tool(name: str, start_s: float, end_s: float, **columns: Any) -> Row:
    """Make a tool call; its tool is named like the span unless another is."""
    return span(name, start_s, end_s, **{"role": "tool", "tool_name": name, **columns})


def agent(name: str, start_s: float, end_s: float, **columns: Any) -> Row:
    """Make an agent span; the agent is named like the span unless another is."""
    return span(name, start_s, end_s, **{"role": "agent", "agent_name": name, **columns})


def span_id(name: str) -> str:
    """Make the id of the span of that name."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def spans(*rows: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Make the tables of a block that holds these spans."""
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=SPANS)
    return {"spans": table.replace_schema_metadata({"decoder_version": str(DECODER_VERSION)})}


def in_trace(trace_id: str, rows: Iterable[Row]) -> list[Row]:
    """Move rows into another trace; ids of spans stay, so that parents stay."""
    return [{**row, "trace_id": trace_id} for row in rows]
