"""What serving engines call their figures, as rows: the seed of `sql/reports/engines.sql`."""

import csv
from functools import cache
from importlib.resources import files

import pyarrow as pa
from duckdb import DuckDBPyConnection

from warehouse.queries import query

KINDS = {"gauge", "counter", "distribution", "distribution_sum"}
_TABLE = "engine_signals"


def write(cursor: DuckDBPyConnection) -> None:
    """Replace the table `engine_signals` by what the seed says, in the caller's transaction."""
    cursor.execute(query("refresh/empty_whole").format(table=_TABLE))
    cursor.register("arriving", rows())
    cursor.execute(query("load/insert").format(kind=_TABLE))
    cursor.unregister("arriving")


def text() -> str:
    """Read the seed as it is written."""
    return files("warehouse").joinpath("seeds/engine_signals.csv").read_text(encoding="utf-8")


@cache
def rows() -> pa.Table:
    """Read the seed; an empty label is null."""
    lines = [line for line in text().splitlines() if line and not line.startswith("#")]
    found = [{key: value or None for key, value in record.items()} for record in csv.DictReader(lines)]
    table = pa.Table.from_pylist(found)
    for name, kind in (("factor", pa.float64()), ("place", pa.int32())):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, name, table.column(name).cast(kind))
    return table
