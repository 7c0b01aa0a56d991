"""The table `gpu_prices`: the prices of cards in force, changed only from now on or by repricing."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter.settings import Settings
from warehouse.prices import gpu_force, gpu_list, user_file
from warehouse.prices.put import insert
from warehouse.prices.rows import GpuPrice
from warehouse.queries import query

_SCHEMA = pa.schema(
    [
        ("sku", pa.string()),
        ("provider", pa.string()),
        ("region", pa.string()),
        ("kind", pa.string()),
        ("usd_per_gpu_hour", pa.decimal128(18, 6)),
        ("from_ns", pa.int64()),
        ("source", pa.string()),
        ("is_default", pa.bool_()),
        ("is_user_row", pa.bool_()),
        ("to_ns", pa.int64()),
    ]
)


def adopt(connection: DuckDBPyConnection, own: Sequence[GpuPrice], known_ns: int) -> None:
    """Put changed lists in force from `known_ns` on; for a SKU that never billed anything, for all time."""
    billed = {sku for (sku,) in connection.execute(query("prices/billed_skus")).fetchall()}
    listed = gpu_force.choose(gpu_list.read() + list(own))
    _write(connection, gpu_force.change(_force(connection), listed, known_ns, billed))


def reprice(connection: DuckDBPyConnection, settings: Settings, since_ns: int, until_ns: int) -> None:
    """Put today's lists in force for [since_ns, until_ns).

    Raises:
        SettingsError: the user's price file cannot be used.
    """
    own = user_file.read(settings.prices.file).gpus
    listed = gpu_force.choose(gpu_list.read() + own)
    _write(connection, gpu_force.replace(_force(connection), listed, since_ns, until_ns))


def _force(connection: DuckDBPyConnection) -> list[GpuPrice]:
    rows = connection.execute(query("prices/gpu_prices")).fetchall()
    return [GpuPrice(*row) for row in rows]


def _write(connection: DuckDBPyConnection, rows: Iterable[GpuPrice]) -> None:
    connection.execute(query("refresh/empty_whole").format(table="gpu_prices"))
    insert(connection, "gpu_prices", _SCHEMA, [row._asdict() for row in rows])
