"""Writing price rows into their tables."""

import pyarrow as pa
from duckdb import DuckDBPyConnection


def insert(
    connection: DuckDBPyConnection, table: str, schema: pa.Schema, rows: list[dict[str, object]]
) -> None:
    """Add rows to a table that has the columns of `schema`."""
    connection.register("price_rows", pa.Table.from_pylist(rows, schema=schema))
    columns = ", ".join(schema.names)
    connection.execute(f"insert into {table} ({columns}) select {columns} from price_rows")  # noqa: S608
    connection.unregister("price_rows")
