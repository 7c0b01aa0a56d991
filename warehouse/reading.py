"""Answering reports beside the writer: each read has a cursor of its own, and there is a bound on reads."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import duckdb
import pyarrow as pa

from taximeter.clock import Clock
from taximeter.errors import BusyError, TaximeterError
from warehouse.parameters import Value
from warehouse.reports import find_report, run_report


class Limits(NamedTuple):
    """How much reading there may be."""

    at_once: int = 8  # reports that run at the same time
    queue: int = 64  # reports that may wait for that; more are refused
    longest_s: float = 30.0  # when a running report is broken off


LIMITS = Limits()


class TooLongError(TaximeterError):
    """A report took longer than any reader should wait."""


class Reader:
    """Reads from one open database, for many callers at once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, clock: Clock, limits: Limits = LIMITS) -> None:
        """Read through cursors of `connection`; relative instants count back from what `clock` says."""
        self._connection = connection
        self._clock = clock
        self._slots = asyncio.Semaphore(limits.at_once)
        self._places = limits.at_once + limits.queue
        self._longest_s = limits.longest_s
        self._present = 0

    async def report(self, name: str, given: dict[str, Value], write: Callable[[pa.Table], bytes]) -> bytes:
        """Answer a report in the bytes that `write` makes of it.

        Raises:
            NotFoundError: there is no such report.
            BadInputError: a parameter that it does not take, or a value that cannot be.
            BusyError: too many wait already; try again.
            TooLongError: it was broken off.
        """
        async with self._place():
            return await asyncio.to_thread(self._answer, name, given, write)

    def _answer(self, name: str, given: dict[str, Value], write: Callable[[pa.Table], bytes]) -> bytes:
        report = find_report(name)
        with self._connection.cursor() as cursor:
            alarm = threading.Timer(self._longest_s, cursor.interrupt)
            alarm.daemon = True
            alarm.start()
            try:
                table = run_report(cursor, report, given, self._clock.now_ns())
            except duckdb.InterruptException:
                message = (
                    f"{name} took longer than {self._longest_s:.0f} s; ask for less time with since and until"
                )
                raise TooLongError(message) from None
            finally:
                alarm.cancel()
        return write(table)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._present >= self._places:
            message = "too many reports are waiting; try again in a second"
            raise BusyError(message)
        self._present += 1
        try:
            async with self._slots:
                yield
        finally:
            self._present -= 1
