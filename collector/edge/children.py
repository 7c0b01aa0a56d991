"""The programs that the collector starts: the decode process, kept alive, and the GPU agent."""

import asyncio
import contextlib
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from collector.journal.commit import GroupCommit

_LOG = logging.getLogger(__name__)

_STOP_S = 5.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_GROWN_UP_S = 10.0


def command(module: str, *arguments: str) -> list[str]:
    """Write the command line of a child that ends when this process does."""
    return [sys.executable, "-m", "collector.edge.child", str(os.getpid()), module, *arguments]


async def keep_worker(journal: GroupCommit, arguments: Sequence[str]) -> None:
    """Keep a decode process running until cancelled.

    The process says which block it has done and is told, once there is more, up to where blocks are durable.
    So it never reads what is not durable, needs no polling, and sees by the closed pipe that we are gone.
    """
    pauses = _Pauses()
    while True:
        pauses.starts()
        process = await asyncio.create_subprocess_exec(
            *command("collector.worker", *arguments), stdin=PIPE, stdout=PIPE
        )
        try:
            await _talk(process, journal)
        finally:
            await _end(process)
        _LOG.warning("the decode process ended with status %s; it is started again", process.returncode)
        await pauses.wait()


async def keep_agent(arguments: Sequence[str]) -> None:
    """Keep the GPU agent running until cancelled, or until it says that there is nothing to sample."""
    pauses = _Pauses()
    while True:
        pauses.starts()
        process = await asyncio.create_subprocess_exec(*command("collector.agent", *arguments))
        try:
            status = await process.wait()
        finally:
            await _end(process)
        if status == 0:
            return
        _LOG.warning("the GPU agent ended with status %d; it is started again", status)
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


async def _talk(process: Process, journal: GroupCommit) -> None:
    if process.stdin is None or process.stdout is None:
        return
    with contextlib.suppress(ConnectionError):
        while line := await process.stdout.readline():
            done = int(line)
            journal.tell_decoded(done)
            process.stdin.write(b"%d\n" % await _beyond(journal, done, process))
            await process.stdin.drain()


async def _beyond(journal: GroupCommit, done: int, process: Process) -> int:
    """Wait for more than `done`; give up when the process dies, so that another is started at once."""
    more = asyncio.ensure_future(journal.wait_beyond(done))
    death = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait((more, death), return_when=asyncio.FIRST_COMPLETED)
        if more.done():
            return more.result()
        raise ConnectionResetError
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
