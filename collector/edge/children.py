"""The programs that the collector starts: the decode process, kept alive, the GPU agent and the scraper."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence

from collector.journal.commit import GroupCommit

_LOG = logging.getLogger(__name__)

_STOP_S = 5.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_GROWN_UP_S = 10.0
_CRASHES = 3
_CRASH_SIGNALS = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE},
)
SET_ASIDE_FIRST = "--set-aside-first"


def command(module: str, *arguments: str) -> list[str]:
    """Write the command line of a child that ends when this process does."""
    return [sys.executable, "-m", "collector.edge.child", str(os.getpid()), module, *arguments]


async def keep_worker(
    journal: GroupCommit, arguments: Sequence[str], module: str = "collector.worker"
) -> None:
    """Keep a decode process running until cancelled.

    The process says which block it has done and is told, once there is more, up to where blocks are durable.
    So it never reads what is not durable, needs no polling, and sees by the closed pipe that we are gone.
    A block on which native code crashed three times in a row is set aside, so that the others go through; a
    process that somebody killed has not crashed.
    """
    pauses = _Pauses()
    crashes = 0
    while True:
        pauses.starts()
        asides = [SET_ASIDE_FIRST] if crashes >= _CRASHES else []
        process = await asyncio.create_subprocess_exec(
            *command(module, *arguments, *asides), stdin=PIPE, stdout=PIPE
        )
        questions = 0
        try:
            async for done in _questions(process):
                questions += 1
                journal.tell_decoded(done)
                await _answer(process, await _beyond(journal, done, process))
        finally:
            await _end(process)
        has_crashed = -(process.returncode or 0) in _CRASH_SIGNALS
        # One that asked again had done with the block that the one before it crashed on.
        crashes = (crashes if questions <= 1 else 0) + 1 if has_crashed else 0
        _LOG.warning("the decode process ended with status %s; it is started again", process.returncode)
        await pauses.wait()


async def keep_sender(module: str, arguments: Sequence[str]) -> None:
    """Keep a program that sends figures running until cancelled, or until it ends well: nothing to do."""
    pauses = _Pauses()
    while True:
        pauses.starts()
        process = await asyncio.create_subprocess_exec(*command(module, *arguments))
        try:
            status = await process.wait()
        finally:
            await _end(process)
        if status == 0:
            return
        _LOG.warning("%s ended with status %d; it is started again", module, status)
        await pauses.wait()


class _Pauses:
    """How long to wait before a child is started again: longer each time that it dies young."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pause_s = _FIRST_PAUSE_S
        self._started_s = 0.0

    def starts(self) -> None:
        self._started_s = self._loop.time()

    async def wait(self) -> None:
        if self._loop.time() - self._started_s > _GROWN_UP_S:
            self._pause_s = _FIRST_PAUSE_S
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)


async def _questions(process: Process) -> AsyncIterator[int]:
    """Yield what the process says that it has done, until it ends."""
    if process.stdout is not None:
        while line := await process.stdout.readline():
            yield int(line)


async def _answer(process: Process, sealed: int) -> None:
    if process.stdin is not None:
        with contextlib.suppress(ConnectionError):  # it died meanwhile, and asks nothing any more
            process.stdin.write(b"%d\n" % sealed)
            await process.stdin.drain()


async def _beyond(journal: GroupCommit, done: int, process: Process) -> int:
    """Wait for more than `done`, but no longer than the process lives: another is to be started at once."""
    more = asyncio.ensure_future(journal.wait_beyond(done))
    death = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait((more, death), return_when=asyncio.FIRST_COMPLETED)
        return more.result() if more.done() else done
    finally:
        more.cancel()
        death.cancel()


async def _end(process: Process) -> None:
    """Close the pipe, which asks a worker to stop; ask again with a signal, then insist."""
    if process.returncode is not None:
        return
    if process.stdin is not None:
        process.stdin.close()
    else:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
