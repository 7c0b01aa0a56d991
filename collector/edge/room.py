"""How many bytes of requests may be in memory at once, whoever sends them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from collector.edge.refusal import FULL, RefusedError

# A body that has been arriving for longer makes room when others need it: its sender may try again.
SLOW_S = 2.0


class Held:
    """What one request holds of the room; `arriving` is the time limit of its body while that is read."""

    def __init__(self, room: "Room") -> None:
        self._room = room
        self.size_bytes = 0
        self.since_s = 0.0
        self.arriving: asyncio.Timeout | None = None

    def grow(self, size_bytes: int) -> None:
        """Take more bytes of the room.

        Raises:
            RefusedError: there is no room; the sender should try again soon.
        """
        self._room.take(self, size_bytes)

    @contextlib.asynccontextmanager
    async def arrival(self, most_s: float) -> AsyncIterator[None]:
        """Bound the time in which the body arrives; less of it where others need the room.

        Raises:
            TimeoutError: it took too long.
        """
        self.since_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(most_s) as self.arriving:
                yield
        finally:
            self.arriving = None


class Room:
    """A bound that all requests in flight share."""

    def __init__(self, max_bytes: int) -> None:
        self._free_bytes = max_bytes
        self._held: set[Held] = set()

    @contextlib.contextmanager
    def hold(self) -> Iterator[Held]:
        """Hold what `Held.grow` takes; it is free again when the block ends."""
        held = Held(self)
        self._held.add(held)
        try:
            yield held
        finally:
            self._held.discard(held)
            self._free_bytes += held.size_bytes

    def take(self, held: Held, size_bytes: int) -> None:
        """Give bytes to one that holds; see `Held.grow`."""
        if size_bytes > self._free_bytes:
            self._end_the_slowest(held)
            raise RefusedError(FULL, "too many requests are being taken at this moment")
        self._free_bytes -= size_bytes
        held.size_bytes += size_bytes

    def _end_the_slowest(self, asking: Held) -> None:
        """Give up the bodies that have been arriving for long, so that they cannot keep everybody out."""
        now_s = asyncio.get_running_loop().time()
        for held in self._held - {asking}:
            if held.arriving is not None and now_s - held.since_s > SLOW_S:
                held.arriving.reschedule(now_s)
