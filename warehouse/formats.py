"""A report as bytes: JSON, CSV, Parquet, Arrow, or a table for a terminal.

Money keeps every digit, instants are ISO 8601 in UTC, unknown is null (in CSV empty, in a table a dash), and
a number that is none (NaN, infinity) is unknown too.
"""

import csv
import io
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from taximeter.errors import BadInputError
from warehouse.table_text import to_table


class Format(NamedTuple):
    """One way to write a report."""

    media_type: str
    write: Callable[[pa.Table], bytes]


def write(table: pa.Table, name: str) -> bytes:
    """Write a report in the named format.

    Raises:
        BadInputError: there is no such format.
    """
    return find_format(name).write(table)


def find_format(name: str) -> Format:
    """Find a format by its name.

    Raises:
        BadInputError: there is none of that name.
    """
    if name not in FORMATS:
        message = f"there is no format {name!r}; there are {', '.join(FORMATS)}"
        raise BadInputError(message)
    return FORMATS[name]


def to_json(table: pa.Table) -> bytes:
    """Write one array of objects, one object a line; money is a JSON number with all its digits."""
    keys = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    columns = [[_json_text(value) for value in column.to_pylist()] for column in table.columns]
    rows = [
        "{" + ",".join(f"{key}:{text}" for key, text in zip(keys, row, strict=True)) + "}"
        for row in zip(*columns, strict=True)
    ]
    return ("[" + ",\n ".join(rows) + "]\n").encode()


def to_csv(table: pa.Table) -> bytes:
    """Write a header and one line per row; a list is written as JSON."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*([_csv_text(v) for v in c.to_pylist()] for c in table.columns), strict=True))
    return out.getvalue().encode()


def to_parquet(table: pa.Table) -> bytes:
    """Write one Parquet file, with the types of the report."""
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def to_arrow(table: pa.Table) -> bytes:
    """Write one Arrow stream."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def _json_text(value: Any) -> str:
    if isinstance(value, Decimal):
        return _digits(value)
    if isinstance(value, list):
        return "[" + ",".join(_json_text(item) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{json.dumps(key)}:{_json_text(item)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    return json.dumps(_plain(value), ensure_ascii=False)


def _csv_text(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, bool | list | dict):
        return _json_text(plain)
    return _digits(plain) if isinstance(plain, Decimal) else str(plain)


def _plain(value: Any) -> Any:
    """Turn instants into text and numbers that are none into unknown."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def _digits(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


FORMATS = {
    "table": Format("text/plain; charset=utf-8", lambda table: to_table(table).encode()),
    "json": Format("application/json", to_json),
    "csv": Format("text/csv; charset=utf-8", to_csv),
    "parquet": Format("application/vnd.apache.parquet", to_parquet),
    "arrow": Format("application/vnd.apache.arrow.stream", to_arrow),
}
