"""The one door to the database file: how it is opened, by whom, and what it says when it is taken.

DuckDB lets no second process open a file that a writer holds, so one process owns it and all others ask
that process. The connection can neither read nor write any other file, and its configuration is locked.
"""

import json
import os
import re
from pathlib import Path

import duckdb

from taximeter.errors import BusyError, NotFoundError, TaximeterError
from taximeter.layout import DataFolder


def open_for_writing(folder: DataFolder, memory_limit: str) -> duckdb.DuckDBPyConnection:
    """Open the database of a data folder as its only owner; the file is made where it is missing.

    Args:
        folder: the data folder, made before.
        memory_limit: such as 2GB; beyond it DuckDB spills next to the file.

    Raises:
        BusyError: another process has it open.
        TaximeterError: the file is no database, or one that this release cannot read.
    """
    return _open(folder, memory_limit, read_only=False)


def open_for_reading(folder: DataFolder, memory_limit: str) -> duckdb.DuckDBPyConnection:
    """Open the database of a data folder beside other readers.

    Raises:
        NotFoundError: there is no database yet.
        BusyError: a writer has it open; ask its URL instead.
        TaximeterError: the file is no database, or one that this release cannot read.
    """
    if not folder.database.exists():
        message = f"there is no warehouse in {folder.root} yet; import something or start `taximeter up`"
        raise NotFoundError(message)
    return _open(folder, memory_limit, read_only=True)


def _open(folder: DataFolder, memory_limit: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": False,
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "memory_limit": memory_limit,
        "threads": len(os.sched_getaffinity(0)),
    }
    try:
        connection = duckdb.connect(folder.database, read_only=read_only, config=config)
    except duckdb.Error as error:
        raise _explain(error, folder) from None
    connection.execute("set TimeZone = 'UTC'")
    connection.execute("set lock_configuration = true")
    return connection


def _explain(error: duckdb.Error, folder: DataFolder) -> TaximeterError:
    text = str(error)
    if "lock" in text:
        server = read_server(folder.server)
        held = re.search(r"\(PID (\d+)\)", text)
        pid = server["pid"] if server else (held.group(1) if held else "unknown")
        where = f"; it answers at {server['url']}" if server else ""
        return BusyError(f"{folder.database} is held by process {pid}{where}")
    if "WAL" in text:
        log = f"{folder.database.name}.wal"
        return TaximeterError(
            f"{folder.database} cannot be opened: its log {log} is damaged. Copy {folder.root}, move {log} "
            "away and start again: the warehouse goes on from its last checkpoint. What was loaded after it "
            "and lies in the journal no more is missing; files can be imported again"
        )
    return TaximeterError(f"{folder.database} cannot be opened: {text.splitlines()[0]}")


def read_server(file: Path) -> dict[str, str] | None:
    """Read which warehouse serves a data folder: its url and pid; none where no file says so."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        return {"url": str(told["url"]), "pid": str(int(told["pid"]))}
    except (OSError, ValueError, KeyError, TypeError):
        return None
