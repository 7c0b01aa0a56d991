"""The laws that figures must keep: each is one SQL file that returns the rows which break it."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from warehouse.queries import FOLDER, query

LAWS = FOLDER / "laws"
EXAMPLES = 3


def check_laws(cursor: DuckDBPyConnection, folder: Path = LAWS) -> dict[str, pa.Table]:
    """Ask every law for the rows that break it; an empty table is a law that holds."""
    return {
        file.stem: cursor.execute(file.read_text(encoding="utf-8")).to_arrow_table()
        for file in sorted(folder.glob("*.sql"))
    }


def keep_results(cursor: DuckDBPyConnection, broken: dict[str, pa.Table], now_ns: int) -> None:
    """Remember how often each law was broken, for the report `health`."""
    cursor.begin()
    cursor.execute(query("refresh/empty_whole").format(table="law_results"))
    for law, rows in broken.items():
        values = {"law": law, "violations": rows.num_rows, "checked_ns": now_ns}
        cursor.execute(query("refresh/remember_law"), values)
    cursor.commit()


def describe(broken: dict[str, pa.Table]) -> Iterable[str]:
    """Write one line per broken law: how many rows break it, and the first few of them."""
    for law, rows in broken.items():
        if rows.num_rows:
            examples = "; ".join(str(row) for row in rows.slice(0, EXAMPLES).to_pylist())
            yield f"{law}: {rows.num_rows} rows break it, such as {examples}"
