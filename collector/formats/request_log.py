"""Rows of a request log as spans, one call a task, and rows of a rate series as points."""

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

import pyarrow as pa

from collector.formats.made import Made, Source, span_id_of, to_requests, trace_id_of
from collector.formats.parts import ITEMS_PER_PART, Bad, Part
from collector.formats.request_map import RequestMap, Row, read_rows
from taximeter.clock import NS_PER_S
from warehouse import rows

RATE_METRIC = "taximeter.request_rate"
_SOURCE = Source("requests", "taximeter.import.requests")
_TOKENS = {
    "input_tokens": "prompt_tokens",
    "cache_read_tokens": "cached_tokens",
    "output_tokens": "completion_tokens",
}


def read_requests(file: BinaryIO, told: RequestMap, where: str) -> Iterator[Part | Bad | dict[str, pa.Table]]:
    """Read a file by its map; `where` names the file, which is the source of its rates.

    Raises:
        BadInputError: the file lacks a column that the map names.
    """
    if told.kind == "rates":
        yield from _rates(file, told, where)
    else:
        yield from to_requests(_SOURCE, _calls(file, told))


def _calls(file: BinaryIO, told: RequestMap) -> Iterator[Made | Bad]:
    for row in read_rows(file, told):
        if isinstance(row, Bad):
            yield row
            continue
        try:
            yield _call(row, told)
        except (ValueError, TypeError) as error:
            yield Bad(row.where, str(error))


def _call(row: Row, told: RequestMap) -> Made:
    """Make a call of a row; one whose duration nobody tells has none, which is not a duration of 0."""
    cells = row.cells
    start_ns = told.instant_ns(cells["time"])
    duration_ns = _seconds_ns(cells.get("duration_s"))
    failed = bool(told.succeeded) and str(cells.get("status")) not in told.succeeded
    key = cells.get("id") or [row.where, str(cells["time"]), *(str(cells.get(name)) for name in _TOKENS)]
    attributes: dict[str, Any] = {
        "record": "call",
        "model": cells.get("model"),
        "session_id": cells.get("session"),
        "user_id": cells.get("user"),
        "taximeter.deployment": cells.get("deployment"),
        "taximeter.untimed": True if duration_ns is None else None,
        "queue_s": _number(cells.get("queue_s")),
        "ttft_s": _number(cells.get("ttft_s")),
        **{attribute: _number(cells.get(name)) for name, attribute in _TOKENS.items()},
    }
    return Made(
        trace_id_of("request", key),
        span_id_of("request", key),
        b"",
        f"chat {cells['model']}" if cells.get("model") else "chat",
        start_ns,
        start_ns + (duration_ns or 0),
        attributes,
        failed,
    )


def _seconds_ns(cell: Any) -> int | None:
    if cell is None:
        return None
    try:
        length_ns = int(Decimal(str(cell)) * NS_PER_S)
    except (InvalidOperation, OverflowError, ValueError):
        message = "its duration is no number"
        raise ValueError(message) from None
    if length_ns < 0:
        message = "its duration is negative"
        raise ValueError(message)
    return length_ns


def _number(cell: Any) -> Any:
    """A cell as the number it says; what says none stays, for decode to refuse."""
    if cell is None or isinstance(cell, int):
        return cell
    try:
        number = Decimal(str(cell))
    except InvalidOperation:
        return str(cell)
    return int(number) if number == number.to_integral_value() else float(number)


def _rates(file: BinaryIO, told: RequestMap, where: str) -> Iterator[Bad | dict[str, pa.Table]]:
    gathered: list[dict[str, Any]] = []
    for row in read_rows(file, told):
        if isinstance(row, Bad):
            yield row
            continue
        try:
            gathered.append(_rate(row, told, where))
        except (ValueError, TypeError) as error:
            yield Bad(row.where, str(error))
        if len(gathered) == ITEMS_PER_PART:
            yield {"points": pa.Table.from_pylist(gathered, schema=rows.POINTS)}
            gathered = []
    if gathered:
        yield {"points": pa.Table.from_pylist(gathered, schema=rows.POINTS)}


def _rate(row: Row, told: RequestMap, where: str) -> dict[str, Any]:
    try:
        rate = float(str(row.cells["rate_per_s"]))
    except ValueError:
        message = "its rate is no number"
        raise ValueError(message) from None
    if not 0 <= rate < float("inf"):
        message = f"a rate of {rate} cannot be"
        raise ValueError(message)
    named = {"source": str(row.cells.get("source") or where), "window_s": told.window_s}
    if row.cells.get("deployment"):
        named["deployment"] = str(row.cells["deployment"])
    return {
        "tenant": "default",
        "service_name": _SOURCE.service,
        "scope_name": _SOURCE.scope,
        "metric": RATE_METRIC,
        "unit": "1/s",
        "kind": "gauge",
        "t_ns": told.instant_ns(row.cells["time"]),
        "value": rate,
        "attributes": json.dumps(named, sort_keys=True, separators=(",", ":")),
        "stream_hash": span_id_of("rate", named).hex(),
        "simulated": False,
    }
