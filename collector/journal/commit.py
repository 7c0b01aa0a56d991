"""Group commit: requests that wait together share one fsync, in a thread of their own."""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from collector.journal.progress import read_loaded
from collector.journal.record import Record
from collector.journal.writer import JournalWriter
from taximeter.clock import Clock
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder

_LOG = logging.getLogger(__name__)

# A block is decoded at once, in memory.
BLOCK_BYTES = 8 * 1024 * 1024
PRUNE_EVERY_S = 0.25


class JournalFullError(TaximeterError):
    """The journal takes nothing now: it is at its bound, or the disk refuses. The sender should try later."""


class Waiting(NamedTuple):
    """A record that is not durable yet, and the future that gets the sequence of its block."""

    record: Record
    done: asyncio.Future[int]


class GroupCommit:
    """Takes records from one event loop and makes them durable in groups.

    An answer waits for its own fsync and for nothing else. A block is sealed when the decode process asks for
    more, so that blocks are small while it is idle and grow, up to a bound, while it is behind.

    Attributes:
        durable: the block of the last commit, open or sealed.
        max_bytes: what may lie on disk and wait to be written.
        observe: called with the seconds that each commit took, from the journal's thread.
        decoded: the block up to which the decode process said that it is done, -1 before it said so.
    """

    def __init__(self, writer: JournalWriter, folder: DataFolder, *, max_bytes: int, clock: Clock) -> None:
        """`max_bytes` bounds what lies on disk and waits to be written."""
        self.name = writer.name
        self.durable = self._sealed = writer.sequence - 1
        self.decoded = -1
        self._writer = writer
        self.folder = folder
        self.max_bytes = max_bytes
        self.observe: Callable[[float], object] = _nobody
        self._since_ns: dict[int, int] = {}
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._grown = asyncio.Event()
        self._moved = asyncio.Event()
        self._waiting: list[Waiting] = []
        self._waiting_bytes = 0
        self._must_seal = False
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
        if self._closing or self.used_bytes + size > self.max_bytes:
            message = "the journal is full: the warehouse is not loading, or journal_max_mib is too small"
            raise JournalFullError(message)
        waiting = Waiting(record, self._loop.create_future())
        with self._wake:
            self._waiting.append(waiting)
            self._waiting_bytes += size
            self._wake.notify()
        return await waiting.done

    async def wait_beyond(self, sequence: int) -> int:
        """Return the highest sealed sequence once it is above `sequence`; asking seals what is durable."""
        while self._sealed <= sequence:
            with self._wake:
                self._must_seal = True
                self._wake.notify()
            await self._grown.wait()
        return self._sealed

    async def wait_decoded(self, sequence: int) -> None:
        """Return once the decode process has done all up to `sequence`."""
        while self.decoded < sequence:
            await self._moved.wait()

    def waiting_since_ns(self, loaded: int) -> int | None:
        """Tell when the oldest block above `loaded` was begun; none where nothing taken here waits."""
        for sequence in [one for one in self._since_ns if one <= loaded]:
            del self._since_ns[sequence]
        return min(self._since_ns.values(), default=None)

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
            if self._must_seal or self._closing or self._writer.open_bytes >= BLOCK_BYTES:
                self._seal()
            if self._closing and not group:
                return
            if self._clock.monotonic_s() - pruned_s >= PRUNE_EVERY_S:
                self._prune()
                pruned_s = self._clock.monotonic_s()

    def _seal(self) -> None:
        if self._writer.open_bytes:
            self._must_seal = False
            self._loop.call_soon_threadsafe(self._tell_sealed, self._writer.seal())

    def _prune(self) -> None:
        try:
            self._writer.prune(read_loaded(self.folder, self.name))
        except OSError as error:
            _LOG.warning("a loaded segment of the journal cannot be deleted: %s", error.strerror)

    def _next_group(self) -> list[Waiting]:
        with self._wake:
            self._wake.wait_for(self._has_work, PRUNE_EVERY_S)
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

    def _has_work(self) -> bool:
        return bool(self._waiting or self._closing or (self._must_seal and self._writer.open_bytes))

    def _commit(self, group: list[Waiting]) -> None:
        began_s = self._clock.monotonic_s()
        try:
            sequence = self._writer.commit([waiting.record for waiting in group])
        except Exception as error:  # noqa: BLE001 - whatever one commit meets, the thread must take the next
            why = error.strerror if isinstance(error, OSError) else type(error).__name__
            if not isinstance(error, OSError):
                _LOG.exception("a commit failed")
            message = f"the journal cannot be written: {why}"
            self._loop.call_soon_threadsafe(self._fail, group, JournalFullError(message))
        else:
            self.observe(self._clock.monotonic_s() - began_s)
            self._loop.call_soon_threadsafe(self._settle, group, sequence)

    def _settle(self, group: Sequence[Waiting], sequence: int) -> None:
        self.durable = sequence
        self._since_ns.setdefault(sequence, group[0].record.received_ns)
        for waiting in group:
            if not waiting.done.done():
                waiting.done.set_result(sequence)

    def _tell_sealed(self, sequence: int) -> None:
        self._sealed = sequence
        self._grown = _fire(self._grown)

    def _fail(self, group: Sequence[Waiting], error: JournalFullError) -> None:
        for waiting in group:
            if not waiting.done.done():
                waiting.done.set_exception(error)


def _nobody(_: float) -> None:
    """Observe nothing."""


def _fire(event: asyncio.Event) -> asyncio.Event:
    """Wake all who wait now; those who wait later get the fresh event."""
    event.set()
    return asyncio.Event()
