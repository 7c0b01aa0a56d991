"""The schema of the database file: made new from sql/schema, or brought up step by step.

`sql/schema` holds today's tables, one file each. `sql/migrations/<version>_<what>.sql` brings a file of the
version before to that version. A new file starts at the newest version. Tables and columns that were only
added need no step of their own: a file that lacks them gets them, empty.
"""

from pathlib import Path

import duckdb

from taximeter.errors import TaximeterError

SQL = Path(__file__).parent / "sql"
FIRST_VERSION = 1
_WANTED = "wanted"  # a schema that exists inside the transaction alone


def migrate(connection: duckdb.DuckDBPyConnection, sql: Path = SQL) -> None:
    """Make the tables, or bring them to this release's version; one transaction, whole or not at all.

    Raises:
        TaximeterError: the file was written by a newer release.
    """
    steps = _steps(sql / "migrations")
    newest = max(steps, default=FIRST_VERSION)
    found = version(connection)
    if found is not None and found > newest:
        message = (
            f"the warehouse has schema version {found}, this release knows {newest}; use a newer release"
        )
        raise TaximeterError(message)
    tables = sorted((sql / "schema").glob("*.sql"))
    with connection.cursor() as cursor:
        cursor.begin()
        for number in sorted(steps):
            if found is not None and number > found:
                cursor.execute(steps[number].read_text(encoding="utf-8"))
        _complete(cursor, tables)
        cursor.execute("delete from schema_version")
        cursor.execute("insert into schema_version values (?)", [newest])
        cursor.commit()


def _complete(cursor: duckdb.DuckDBPyConnection, tables: list[Path]) -> None:
    """Add what today's tables have more than those of the file; nothing is taken away or changed."""
    cursor.execute(f"create schema {_WANTED}")
    cursor.execute(f"use {_WANTED}")
    for file in tables:
        cursor.execute(file.read_text(encoding="utf-8"))
    cursor.execute("use main")
    wanted, there = _columns(cursor, _WANTED), _columns(cursor, "main")
    cursor.execute(f"drop schema {_WANTED} cascade")
    for file in tables:
        if file.stem not in there:
            cursor.execute(file.read_text(encoding="utf-8"))
            continue
        for column in wanted[file.stem].keys() - there[file.stem].keys():
            kind = wanted[file.stem][column]
            cursor.execute(f'alter table {file.stem} add column "{column}" {kind}')


def _columns(cursor: duckdb.DuckDBPyConnection, schema: str) -> dict[str, dict[str, str]]:
    """List the columns of each table of a schema, with their types."""
    rows = cursor.execute(
        "select table_name, column_name, data_type from duckdb_columns() where schema_name = ?", [schema]
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        found.setdefault(table, {})[column] = kind
    return found


def version(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Tell the version of the open file's schema; none where it has no tables yet."""
    tables = connection.execute(
        "select 1 from duckdb_tables() where table_name = 'schema_version'"
    ).fetchone()
    if tables is None:
        return None
    row = connection.execute("select version from schema_version").fetchone()
    return int(row[0]) if row else None


def _steps(folder: Path) -> dict[int, Path]:
    return {int(file.name.partition("_")[0]): file for file in folder.glob("*.sql")}
