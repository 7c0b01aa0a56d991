"""What cards call themselves, as rows: the seed of `sql/marts/gpus.sql`."""

import csv
from functools import cache
from importlib.resources import files

import pyarrow as pa
from duckdb import DuckDBPyConnection

_SCHEMA = pa.schema(
    [("position", pa.int32()), ("pattern", pa.string()), ("sku", pa.string()), ("idle_w", pa.float64())]
)


def prepare(cursor: DuckDBPyConnection) -> None:
    """Fill the temporary table `sku_names`; the smaller position of two patterns that fit wins."""
    cursor.register("arriving", _read())
    cursor.execute("create or replace temp table sku_names as select * from arriving")
    cursor.unregister("arriving")


@cache
def _read() -> pa.Table:
    text = files("warehouse").joinpath("seeds/sku_names.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows = [
        {
            "position": position,
            "pattern": record["pattern"],
            "sku": record["sku"],
            "idle_w": float(record["idle_w"]) if record["idle_w"] else None,
        }
        for position, record in enumerate(csv.DictReader(lines))
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)
