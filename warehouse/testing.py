"""A warehouse for tests: a real database in a folder, loaded and refreshed by hand."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection

from taximeter.clock import ManualClock
from taximeter.errors import BusyError
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse.access import Access
from warehouse.api import Repricing, build_app
from warehouse.health import tell_health
from warehouse.keeper import Progress
from warehouse.laws import check_laws, describe
from warehouse.load import Summary, load_all
from warehouse.migrate import migrate
from warehouse.owner import open_for_writing
from warehouse.parameters import Value
from warehouse.reading import LIMITS, Limits, Reader
from warehouse.refresh import LastRefresh, refresh
from warehouse.reports import find_report, run_report
from warehouse.rows import DECODER_VERSION, block_name
from warehouse.server import answering

OPEN = Access((), ())  # no tokens: whoever reaches loopback may read


class StandingClock(ManualClock):
    """A clock that is put to an instant, forwards or backwards."""

    def stand_at(self, now_ns: int) -> None:
        """Stand at that instant until told otherwise."""
        self._now_ns = now_ns


class Store:
    """One open warehouse; its clock stands where the last refresh put it."""

    def __init__(self, connection: DuckDBPyConnection, settings: Settings) -> None:
        """Use an open and migrated connection."""
        self.connection = connection
        self.settings = settings
        self.folder = DataFolder(settings.data)
        self.clock = StandingClock()
        loaded = self.sql("select max(sequence) from watermarks where journal = 'test'")[0][0]
        self._next = 0 if loaded is None else loaded + 1

    def load(self, tables: Mapping[str, pa.Table]) -> Summary:
        """Write tables (by kind; columns may be missing) as the next block of journal `test` and load it."""
        write_block(self.folder, "test", self._next, tables)
        self._next += 1
        return self.load_inbox()

    def load_inbox(self) -> Summary:
        """Load whatever waits in the inbox."""
        return load_all(self.connection, self.folder, self.clock.now_ns())

    def refresh(self, now_ns: int) -> LastRefresh:
        """Compute all figures as of `now_ns`."""
        self.clock.stand_at(now_ns)
        return refresh(self.connection, self.settings, self.clock)

    def report(self, name: str, **params: Value) -> pa.Table:
        """Answer a report; relative instants count back from the last refresh."""
        with self.connection.cursor() as cursor:
            return run_report(cursor, find_report(name), params, self.clock.now_ns())

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Ask anything of the tables."""
        with self.connection.cursor() as cursor:
            return cursor.execute(query).fetchall()

    def check_laws(self) -> list[str]:
        """Write one line per broken law; an empty list is what should be."""
        with self.connection.cursor() as cursor:
            return list(describe(check_laws(cursor)))


@contextmanager
def store(path: Path, settings: Settings | None = None) -> Iterator[Store]:
    """Open a warehouse in a folder, new or from before; the data folder of the settings is not used."""
    used = (settings or Settings()).model_copy(update={"data": path})
    connection = open_for_writing(DataFolder(path).make(), used.warehouse.memory_limit)
    with connection:
        migrate(connection)
        yield Store(connection, used)


@contextmanager
def serve(warehouse: Store, access: Access = OPEN, limits: Limits = LIMITS) -> Iterator[str]:
    """Answer HTTP from an open store, on any free loopback port; gives the URL."""
    reader = Reader(warehouse.connection, warehouse.clock, limits)

    async def nobody_writes(asked: Repricing) -> pa.Table:
        message = f"nobody writes here: {asked}"
        raise BusyError(message)

    health = partial(tell_health, Progress(), warehouse.folder, warehouse.clock)
    app = build_app(reader, access, health, nobody_writes)
    with answering(app, "127.0.0.1", 0, lambda: None) as url:
        yield url


def write_block(
    folder: DataFolder,
    journal: str,
    sequence: int,
    tables: Mapping[str, pa.Table],
    decoder_version: int = DECODER_VERSION,
) -> Path:
    """Put a block into the inbox as any writer of blocks must: whole, by one rename."""
    name = block_name(journal, sequence)
    draft = folder.staging / name
    draft.mkdir()
    metadata = {"journal": journal, "sequence": str(sequence), "decoder_version": str(decoder_version)}
    for kind, table in tables.items():
        pq.write_table(table.replace_schema_metadata(metadata), draft / f"{kind}.parquet")
    return draft.rename(folder.inbox / name)
