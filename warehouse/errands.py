"""Work that the writing thread does for others, one after the other, between two of its own turns."""

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from duckdb import DuckDBPyConnection

from taximeter.errors import BusyError

MOST_WAITING = 4
_Result = TypeVar("_Result")


class Errands:
    """A short queue from the server's thread to the one that owns the database."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Callable[[DuckDBPyConnection], Any], Future[Any]]] = queue.Queue(
            MOST_WAITING
        )

    async def ask(self, work: Callable[[DuckDBPyConnection], _Result]) -> _Result:
        """Have `work` done by the writing thread; what it returns or raises comes back.

        Raises:
            BusyError: too many wait already.
        """
        future: Future[_Result] = Future()
        try:
            self._waiting.put_nowait((work, future))
        except queue.Full:
            message = "too much is waiting to be written; try again in a minute"
            raise BusyError(message) from None
        return await asyncio.wrap_future(future)

    def do(self, connection: DuckDBPyConnection) -> None:
        """Do all that waits; called by the thread that owns the connection."""
        while True:
            try:
                work, future = self._waiting.get_nowait()
            except queue.Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work(connection))
            except Exception as error:  # noqa: BLE001 - whoever asked is told, whatever it is
                future.set_exception(error)
