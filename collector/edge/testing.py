"""Running edges and running collectors for tests: real sockets, real files, real processes."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from collector.edge.access import Grant
from collector.edge.intake import Intake
from collector.edge.server import Edges, Ports
from collector.journal.commit import GroupCommit
from collector.journal.reader import read_blocks
from collector.journal.record import Record
from collector.journal.writer import JournalWriter
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.layout import DataFolder

_Result = TypeVar("_Result")
_START_S = 60.0
_POLL_S = 0.01


class RunningEdges:
    """Both edges over a real journal, on a thread of their own; nobody decodes what they take."""

    def __init__(self, folder: DataFolder, journal: GroupCommit, ports: Ports) -> None:
        self.folder = folder
        self.journal = journal
        self.http_url = f"http://127.0.0.1:{ports.http}"
        self.grpc_target = f"127.0.0.1:{ports.grpc}"

    def records(self) -> list[Record]:
        """Read every durable record back from the files of the journal, sealed or not."""
        blocks = read_blocks(self.folder.journal, -1, self.journal.durable)
        return [record for block in blocks for record in block.records]


@contextlib.contextmanager
def running_edges(
    root: Path,
    *,
    grants: Sequence[Grant] = (),
    max_request_bytes: int = 1024 * 1024,
    journal_max_bytes: int = 1 << 30,
    clock: Clock = SYSTEM_CLOCK,
) -> Iterator[RunningEdges]:
    """Serve both edges on free ports of this machine until the block ends."""
    folder = DataFolder(root).make()

    async def start() -> tuple[GroupCommit, Edges]:
        writer = JournalWriter(folder, segment_bytes=1 << 20)
        journal = GroupCommit(writer, folder, max_bytes=journal_max_bytes, clock=clock)
        intake = Intake(journal, grants, clock, max_request_bytes=max_request_bytes)
        return journal, await Edges.start(intake, "127.0.0.1", 0, 0)

    with loop_in_thread() as loop:
        journal, edges = run_in(loop, start())
        try:
            yield RunningEdges(folder, journal, edges.ports)
        finally:
            run_in(loop, edges.stop())
            run_in(loop, journal.close())


@contextlib.contextmanager
def loop_in_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop beside the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def run_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine on a loop of another thread and wait for it."""
    return asyncio.run_coroutine_threadsafe(work, loop).result(_START_S)


class CollectorProcess:
    """The collector as its own program on one data folder; it can be killed and started again."""

    def __init__(self, root: Path, *arguments: str) -> None:
        """Name the folder and further options; `start` starts it."""
        self.folder = DataFolder(root)
        self._arguments = ("--data", str(root), "--grpc-port", "0", "--http-port", "0", *arguments)
        self._process: subprocess.Popen[bytes] | None = None
        self.http_url = ""
        self.grpc_target = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    @property
    def pid(self) -> int:
        """The collector's own process."""
        return self._running().pid

    def start(self) -> None:
        """Start it and wait until both ports are told."""
        self._process = subprocess.Popen([sys.executable, "-m", "collector", *self._arguments])
        told = self.folder.root / "collector.json"
        deadline_s = SYSTEM_CLOCK.monotonic_s() + _START_S
        while True:
            with contextlib.suppress(FileNotFoundError):
                where = json.loads(told.read_text(encoding="ascii"))
                if where["pid"] == self._process.pid:
                    break
            if self._process.poll() is not None or SYSTEM_CLOCK.monotonic_s() > deadline_s:
                message = f"the collector did not start: status {self._process.returncode}"
                raise RuntimeError(message)
            SYSTEM_CLOCK.sleep(_POLL_S)
        self.http_url = f"http://127.0.0.1:{where['http_port']}"
        self.grpc_target = f"127.0.0.1:{where['grpc_port']}"

    def stop(self) -> int:
        """Ask it to end; returns its status."""
        self._running().send_signal(signal.SIGTERM)
        return self._running().wait(_START_S)

    def kill(self) -> None:
        """Kill it the hard way."""
        self._running().kill()
        self._running().wait(_START_S)

    def worker_pid(self) -> int | None:
        """Find its decode process; none at the moments between the end of one and the start of the next."""
        for pid in _children(self.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if b"collector.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
        return None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            message = "the collector was not started"
            raise RuntimeError(message)
        return self._process


def _children(pid: int) -> list[int]:
    listed = ""
    with contextlib.suppress(FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            listed += (task / "children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]
