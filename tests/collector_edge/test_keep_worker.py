import asyncio
import contextlib
import signal
from pathlib import Path

import pytest

from collector.edge.children import SET_ASIDE_FIRST, keep_worker
from collector.journal.commit import GroupCommit
from collector.journal.record import Record
from collector.journal.writer import JournalWriter
from taximeter.clock import SYSTEM_CLOCK
from taximeter.layout import DataFolder

STARTS = 4
# A decode process that notes how it was started, asks once, gets its answer, and dies as it is told.
CHILD = """
import os, sys
with open({notes!r}, "a") as notes:
    notes.write(" ".join(sys.argv[1:]) + "\\n")
print(-1, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), {number})
"""


async def noted_starts(folder: DataFolder, notes: Path) -> list[str]:
    writer = JournalWriter(folder, segment_bytes=1 << 20)
    journal = GroupCommit(writer, folder, max_bytes=1 << 20, clock=SYSTEM_CLOCK)
    await journal.append(Record("traces", "default", 7, "127.0.0.1", b"x"))
    keeper = asyncio.create_task(keep_worker(journal, ["--data", "here"], module="dying_worker"))
    noted: list[str] = []
    async with asyncio.timeout(120):
        while len(noted) < STARTS:  # another process moves this
            await asyncio.sleep(0.02)
            noted = lines(notes)
    keeper.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeper
    await journal.close()
    return noted


def lines(notes: Path) -> list[str]:
    return notes.read_text(encoding="ascii").splitlines() if notes.exists() else []


@pytest.mark.parametrize(
    ("number", "fourth"),
    [(signal.SIGSEGV, f"--data here {SET_ASIDE_FIRST}"), (signal.SIGKILL, "--data here")],
)
def test_only_crashes_set_a_block_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, fourth: str
) -> None:
    """After three crashes on one block the next process sets it aside; after three kills it does not."""
    notes = tmp_path / "notes"
    code = CHILD.format(notes=str(notes), number=int(number))
    (tmp_path / "dying_worker.py").write_text(code, encoding="ascii")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    noted = asyncio.run(noted_starts(DataFolder(tmp_path / "data").make(), notes))
    assert noted == ["--data here"] * 3 + [fourth]
