"""How many bytes of requests may be in memory at once, whoever sends them."""

import contextlib
from collections.abc import Callable, Iterator

from collector.edge.refusal import FULL, RefusedError


class Room:
    """A bound that all requests in flight share."""

    def __init__(self, max_bytes: int) -> None:
        self._free_bytes = max_bytes

    @contextlib.contextmanager
    def hold(self) -> Iterator[Callable[[int], None]]:
        """Give a function that takes more bytes of the room; they are free again when the block ends.

        The function raises RefusedError when there is no room; the sender should try again soon.
        """
        held_bytes = 0

        def grow(size_bytes: int) -> None:
            nonlocal held_bytes
            if size_bytes > self._free_bytes:
                raise RefusedError(FULL, "too many requests are being taken at this moment")
            self._free_bytes -= size_bytes
            held_bytes += size_bytes

        try:
            yield grow
        finally:
            self._free_bytes += held_bytes
