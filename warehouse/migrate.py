"""The schema of the database file: made new from sql/schema, or brought up step by step.

`sql/schema` holds today's tables, one file each. `sql/migrations/<version>_<what>.sql` brings a file of the
version before to that version. A new file starts at the newest version.
"""

from pathlib import Path

import duckdb

from taximeter.errors import TaximeterError

SQL = Path(__file__).parent / "sql"
FIRST_VERSION = 1


def migrate(connection: duckdb.DuckDBPyConnection, sql: Path = SQL) -> None:
    """Make the tables, or bring them to this release's version; one transaction, whole or not at all.

    Raises:
        TaximeterError: the file was written by a newer release.
    """
    steps = _steps(sql / "migrations")
    newest = max(steps, default=FIRST_VERSION)
    found = version(connection)
    if found == newest:
        return
    if found is not None and found > newest:
        message = (
            f"the warehouse has schema version {found}, this release knows {newest}; use a newer release"
        )
        raise TaximeterError(message)
    files = (
        sorted((sql / "schema").glob("*.sql"))
        if found is None
        else [steps[number] for number in sorted(steps) if number > found]
    )
    with connection.cursor() as cursor:
        cursor.begin()
        for file in files:
            cursor.execute(file.read_text(encoding="utf-8"))
        cursor.execute("delete from schema_version")
        cursor.execute("insert into schema_version values (?)", [newest])
        cursor.commit()


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
