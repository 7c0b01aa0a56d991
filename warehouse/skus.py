"""What cards call themselves and who measures them, as rows: the seeds of the ledger's models."""

import csv
from functools import cache
from importlib.resources import files

import pyarrow as pa
from duckdb import DuckDBPyConnection

from warehouse.queries import query

_SCHEMA = pa.schema(
    [("position", pa.int32()), ("pattern", pa.string()), ("sku", pa.string()), ("idle_w", pa.float64())]
)


def prepare(cursor: DuckDBPyConnection) -> None:
    """Fill the temporary tables `sku_names` and `gpu_sources`.

    The smaller position of two name patterns that fit wins, and the source with the smaller place.
    """
    for table, seed in (("sku_names", _sku_names()), ("gpu_sources", _gpu_sources())):
        cursor.register("arriving", seed)
        cursor.execute(query("refresh/seed").format(table=table))
        cursor.unregister("arriving")


@cache
def _gpu_sources() -> pa.Table:
    rows = [
        {
            "source": record["source"],
            "place": int(record["place"]),
            "follows_setting": record["interval"] == "setting",
        }
        for record in _records("gpu_sources.csv")
    ]
    return pa.Table.from_pylist(rows)


@cache
def _sku_names() -> pa.Table:
    rows = [
        {
            "position": position,
            "pattern": record["pattern"],
            "sku": record["sku"],
            "idle_w": float(record["idle_w"]) if record["idle_w"] else None,
        }
        for position, record in enumerate(_records("sku_names.csv"))
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _records(name: str) -> list[dict[str, str]]:
    text = files("warehouse").joinpath(f"seeds/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if line and not line.startswith("#")))
