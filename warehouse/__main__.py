"""The warehouse's program: one thread writes, another answers HTTP, until it is told to stop."""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter import settings as settings_file
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder
from taximeter.say import say
from taximeter.settings import Settings
from warehouse.access import Access, read_access
from warehouse.api import Repricing, build_app
from warehouse.health import tell_health
from warehouse.keeper import Keeper
from warehouse.load import write_loaded
from warehouse.migrate import migrate
from warehouse.owner import open_for_writing
from warehouse.reading import Reader
from warehouse.reprice import Span, reprice
from warehouse.server import answering


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or Ctrl-C; the exit status is 0 then, else that of the error told."""
    arguments = _parser().parse_args(argv)
    try:
        settings = _settings(arguments)
        access = read_access(settings)
        serve(settings, access)
    except TaximeterError as error:
        say(f"taximeter warehouse: {error}")
        return error.exit_status
    except duckdb.Error as error:
        say(f"taximeter warehouse: the database closed itself and must be opened again: {error}")
        return 1
    return 0


def serve(settings: Settings, access: Access) -> None:
    """Open the data folder, keep it up to date and answer until a signal comes.

    Raises:
        BusyError: another process has the database or the port.
        TaximeterError: the database cannot be used.
    """
    stop = threading.Event()
    folder = DataFolder(settings.data).make()
    with open_for_writing(folder, settings.warehouse.memory_limit) as connection:
        migrate(connection)
        write_loaded(connection, folder)
        keeper = Keeper(connection, settings, SYSTEM_CLOCK, say)
        app = build_app(
            Reader(connection, SYSTEM_CLOCK),
            access,
            lambda: tell_health(keeper.progress, folder, SYSTEM_CLOCK),
            lambda asked: keeper.errands.ask(_repricing(asked, settings)),
        )
        with (
            _signals(stop),
            answering(app, settings.warehouse.host, settings.warehouse.port, stop.set) as url,
            _announced(folder, url),
        ):
            say(f"taximeter warehouse: ready at {url}")
            while not stop.wait(keeper.turn()):
                pass


def _repricing(asked: Repricing, settings: Settings) -> Callable[[DuckDBPyConnection], pa.Table]:
    """Read what is asked before it waits for its turn.

    Raises:
        BadInputError: an instant is none.
    """
    span = Span.read(asked.since, asked.until, SYSTEM_CLOCK.now_ns())
    return lambda connection: reprice(
        connection, settings, SYSTEM_CLOCK, since_ns=span.since_ns, until_ns=span.until_ns, write=asked.write
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="taximeter warehouse", description="Load, compute, answer reports.")
    parser.add_argument("--config", "-c", type=Path, help="settings file [taximeter.yaml if there]")
    parser.add_argument("--data", "-d", type=Path, help="data folder [from the settings]")
    parser.add_argument("--host", help="where to listen [127.0.0.1]")
    parser.add_argument("--port", type=int, help="where to listen, 0 for any free port [8080]")
    return parser


def _settings(arguments: argparse.Namespace) -> Settings:
    values = settings_file.load(arguments.config, data=arguments.data)
    changes = {
        key: getattr(arguments, key) for key in ("host", "port") if getattr(arguments, key) is not None
    }
    return values.model_copy(update={"warehouse": values.warehouse.model_copy(update=changes)})


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Turn SIGTERM and Ctrl-C into an ordinary end."""
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _announced(folder: DataFolder, url: str) -> Iterator[None]:
    """Tell the command line who serves the data folder."""
    draft = folder.server.with_suffix(".draft")
    draft.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
    draft.replace(folder.server)
    try:
        yield
    finally:
        folder.server.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
