"""The command line's way in: it asks the server, or opens the data folder itself where none runs."""

import os
import shutil
import sys

import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.errors import BusyError, NotFoundError
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse.access import read_token
from warehouse.client import Client
from warehouse.formats import find_format
from warehouse.inbox import waiting
from warehouse.load import Summary, load_all, write_loaded
from warehouse.migrate import migrate
from warehouse.owner import open_for_reading, open_for_writing, read_server
from warehouse.parameters import Value
from warehouse.refresh import refresh
from warehouse.reports import find_report, read_reports, run_report
from warehouse.reprice import Span
from warehouse.reprice import reprice as change_prices
from warehouse.table_text import to_table

PATIENCE_S = 10.0
_TRY_EVERY_S = 0.1


def load_once(settings: Settings, clock: Clock = SYSTEM_CLOCK) -> Summary:
    """Load all that waits in the data folder and bring the figures up to date, with no server running.

    Raises:
        BusyError: a server has the folder, and loads by itself; or another command did for too long.
    """
    folder = DataFolder(settings.data).make()
    with _open_patiently(folder, settings, clock) as connection:
        return _bring_up_to_date(connection, folder, settings, clock)


def ask(
    settings: Settings,
    name: str,
    params: dict[str, Value],
    *,
    url: str | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> pa.Table:
    """Answer a report, from whoever can.

    That is the warehouse at `url`, else the one of the settings, else the one that serves the data folder,
    else the data folder itself, brought up to date first where it can be written.

    Raises:
        TaximeterError: nobody can, there is no such report, or a parameter cannot be.
    """
    if address := url or settings.warehouse.url:
        return Client(address, read_token(settings)).report(name, **params)
    report = find_report(name)
    folder = DataFolder(settings.data)
    _require_data(folder)
    if not os.access(folder.root, os.W_OK):
        with open_for_reading(folder, settings.warehouse.memory_limit) as connection:
            return run_report(connection, report, params, clock.now_ns())
    try:
        opened = _open_patiently(folder.make(), settings, clock)
    except BusyError:
        if address := _served_at(folder, settings):
            return Client(address, read_token(settings)).report(name, **params)
        raise
    with opened as connection:
        _bring_up_to_date(connection, folder, settings, clock)
        return run_report(connection, report, params, clock.now_ns())


def answer(
    settings: Settings, name: str, params: dict[str, Value], output: str, *, url: str | None = None
) -> bytes:
    """Answer a report as bytes in a format of `warehouse.formats`; a table is cut to the terminal it goes to.

    Raises:
        TaximeterError: see `ask`; or there is no such format.
    """
    written = find_format(output)
    table = ask(settings, name, params, url=url)
    if output == "table" and sys.stdout.isatty():
        return to_table(table, shutil.get_terminal_size().columns).encode()
    return written.write(table)


def reprice(
    settings: Settings, since: Value, until: Value, *, write: bool, clock: Clock = SYSTEM_CLOCK
) -> pa.Table:
    """Price the steps of a range by today's price book, and tell what that changes; only `write` keeps it.

    Where a server has the folder, it does that, by its own settings.

    Args:
        settings: whose price file holds.
        since: from when, in the forms that reports take: 7d, 2026-11-01, 2026-11-01T08:00Z.
        until: up to when, not included; none for now.
        write: keep the new prices.
        clock: what the range counts back from.

    Raises:
        TaximeterError: there is no data, an instant is none, or the server refuses.
    """
    span = Span.read(since, until, clock.now_ns())
    folder = DataFolder(settings.data)
    _require_data(folder)
    try:
        opened = _open_patiently(folder.make(), settings, clock)
    except BusyError:
        if address := _served_at(folder, settings):
            token = read_token(settings, admin=True)
            return Client(address, token).reprice(span.since_ns, span.until_ns, write=write)
        raise
    with opened as connection:
        _bring_up_to_date(connection, folder, settings, clock)
        return change_prices(
            connection, settings, clock, since_ns=span.since_ns, until_ns=span.until_ns, write=write
        )


def list_reports() -> str:
    """Write one line per report: its name and its grain."""
    reports = read_reports().values()
    widest = max((len(report.name) for report in reports), default=0)
    return "".join(f"{report.name:{widest}}  {report.grain}\n" for report in reports)


def _bring_up_to_date(
    connection: DuckDBPyConnection, folder: DataFolder, settings: Settings, clock: Clock
) -> Summary:
    migrate(connection)
    write_loaded(connection, folder)
    done = load_all(connection, folder, clock.now_ns())
    refresh(connection, settings, clock)
    return done


def _open_patiently(folder: DataFolder, settings: Settings, clock: Clock) -> DuckDBPyConnection:
    """Wait for another command to end, but not for a server."""
    end_s = clock.monotonic_s() + PATIENCE_S
    while True:
        try:
            return open_for_writing(folder, settings.warehouse.memory_limit)
        except BusyError:
            if clock.monotonic_s() > end_s or _served_at(folder, settings):
                raise
            clock.sleep(_TRY_EVERY_S)


def _served_at(folder: DataFolder, settings: Settings) -> str | None:
    """Tell the address of the warehouse that serves a folder, if it answers."""
    server = read_server(folder.server)
    if server and Client(server["url"], read_token(settings)).is_up():
        return server["url"]
    return None


def _require_data(folder: DataFolder) -> None:
    if not folder.database.exists() and not (folder.inbox.exists() and waiting(folder.inbox)):
        message = f"there is no data in {folder.root} yet; import something or start `taximeter up`"
        raise NotFoundError(message)
