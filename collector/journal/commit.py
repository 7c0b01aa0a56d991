"""Group commit: requests that wait together share one fsync, in a thread of their own."""

import asyncio
import logging
import threading
from collections.abc import Sequence

from collector.journal.progress import read_loaded
from collector.journal.record import Record
from collector.journal.writer import JournalWriter
from taximeter.clock import Clock
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder

_LOG = logging.getLogger(__name__)

# A block is decoded at once and becomes one folder of the inbox: neither huge nor, under load, tiny.
BLOCK_BYTES = 8 * 1024 * 1024
LAG_BLOCKS = 4
LINGER_S = 0.05
PRUNE_EVERY_S = 0.25


class JournalFullError(TaximeterError):
    """The journal takes nothing now: it is at its bound, or the disk refuses. The sender should try later."""


class Waiting:
    """A record that is not durable yet, and who waits for it."""

    def __init__(self, record: Record, done: asyncio.Future[int]) -> None:
        """`done` gets the sequence of the record's block."""
        self.record = record
        self.done = done


class GroupCommit:
    """Takes records from one event loop and makes them durable in groups.

    When the decode process lags by more than a few blocks, commits wait a little so that groups grow; an idle
    journal commits at once.
    """

    def __init__(self, writer: JournalWriter, folder: DataFolder, *, max_bytes: int, clock: Clock) -> None:
        """`max_bytes` bounds what lies on disk and waits to be written."""
        self.name = writer.name
        self.durable = writer.next_sequence - 1
        self.decoded = self.durable
        self._writer = writer
        self._folder = folder
        self._max_bytes = max_bytes
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._grown = asyncio.Event()
        self._moved = asyncio.Event()
        self._waiting: list[Waiting] = []
        self._waiting_bytes = 0
        self._closing = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    @property
    def used_bytes(self) -> int:
        """What the journal holds on disk and in the queue."""
        return self._writer.used_bytes + self._waiting_bytes

    async def append(self, record: Record) -> int:
        """Return the sequence of the record's block once the block is durable.

        Raises:
            JournalFullError: nothing was kept; the sender must be told to try again later.
        """
        size = len(record.payload)
        if self._closing or self.used_bytes + size > self._max_bytes:
            message = "the journal is full: the warehouse is not loading, or journal_max_mib is too small"
            raise JournalFullError(message)
        waiting = Waiting(record, self._loop.create_future())
        with self._wake:
            self._waiting.append(waiting)
            self._waiting_bytes += size
            self._wake.notify()
        return await waiting.done

    async def wait_beyond(self, sequence: int) -> int:
        """Return the highest durable sequence as soon as it is above `sequence`."""
        while self.durable <= sequence:
            await self._grown.wait()
        return self.durable

    async def wait_decoded(self, sequence: int) -> None:
        """Return once the decode process has done all up to `sequence`."""
        while self.decoded < sequence:
            await self._moved.wait()

    def tell_decoded(self, sequence: int) -> None:
        """Note how far the decode process has come."""
        self.decoded = sequence
        self._moved = _fire(self._moved)

    async def close(self) -> None:
        """Make what waits durable, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join)
        self._writer.close()

    def _run(self) -> None:
        pruned_s = self._clock.monotonic_s()
        while True:
            group = self._next_group()
            if group:
                self._commit(group)
            elif self._closing:
                return
            if self._clock.monotonic_s() - pruned_s >= PRUNE_EVERY_S:
                self._prune()
                pruned_s = self._clock.monotonic_s()

    def _prune(self) -> None:
        try:
            self._writer.prune(read_loaded(self._folder, self.name))
        except OSError as error:
            _LOG.warning("a loaded segment of the journal cannot be deleted: %s", error.strerror)

    def _next_group(self) -> list[Waiting]:
        with self._wake:
            if not self._waiting and not self._closing:
                self._wake.wait(PRUNE_EVERY_S)
            if self._waiting and self.durable - self.decoded > LAG_BLOCKS and not self._closing:
                self._wake.wait_for(lambda: self._closing or self._waiting_bytes >= BLOCK_BYTES, LINGER_S)
            size = 0
            count = 0
            for waiting in self._waiting:
                size += len(waiting.record.payload)
                if count and size > BLOCK_BYTES:
                    break
                count += 1
            group, self._waiting = self._waiting[:count], self._waiting[count:]
            self._waiting_bytes = sum(len(waiting.record.payload) for waiting in self._waiting)
            return group

    def _commit(self, group: list[Waiting]) -> None:
        try:
            sequence = self._writer.commit([waiting.record for waiting in group])
        except OSError as error:
            message = f"the journal cannot be written: {error.strerror}"
            self._loop.call_soon_threadsafe(self._fail, group, JournalFullError(message))
        else:
            self._loop.call_soon_threadsafe(self._settle, group, sequence)

    def _settle(self, group: Sequence[Waiting], sequence: int) -> None:
        self.durable = sequence
        self._grown = _fire(self._grown)
        for waiting in group:
            if not waiting.done.done():
                waiting.done.set_result(sequence)

    def _fail(self, group: Sequence[Waiting], error: JournalFullError) -> None:
        for waiting in group:
            if not waiting.done.done():
                waiting.done.set_exception(error)


def _fire(event: asyncio.Event) -> asyncio.Event:
    """Wake all who wait now; those who wait later get the fresh event."""
    event.set()
    return asyncio.Event()
