import asyncio
import os
import time
from pathlib import Path

import pytest

from collector.journal import commit as group_commit
from collector.journal.commit import GroupCommit, JournalFullError
from collector.journal.reader import read_blocks
from collector.journal.record import Record
from collector.journal.segments import segments
from collector.journal.writer import JournalWriter
from taximeter.clock import SYSTEM_CLOCK
from taximeter.layout import DataFolder


def one(payload: bytes = b"x") -> Record:
    return Record("traces", "default", 7, "127.0.0.1", payload)


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data").make()


def opened(folder: DataFolder, max_bytes: int = 1 << 30) -> GroupCommit:
    writer = JournalWriter(folder, segment_bytes=1 << 20)
    return GroupCommit(writer, folder, max_bytes=max_bytes, clock=SYSTEM_CLOCK)


def test_requests_that_wait_together_share_an_fsync(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one fsync runs, all that arrive wait for the next one and share it."""
    syncs = []
    real = os.fdatasync

    def slow(file: int) -> None:
        time.sleep(0.05)
        syncs.append(file)
        real(file)

    monkeypatch.setattr(os, "fdatasync", slow)

    async def scenario() -> None:
        journal = opened(folder)
        first = asyncio.create_task(journal.append(one(b"first")))
        await asyncio.sleep(0.02)
        await asyncio.gather(first, *(journal.append(one(b"%d" % number)) for number in range(20)))
        await journal.close()

    asyncio.run(scenario())
    assert len(syncs) == 2
    (block,) = read_blocks(folder.journal, -1, 0)
    assert [record.payload for record in block.records] == [
        b"first",
        *(b"%d" % number for number in range(20)),
    ]


def test_an_answer_comes_after_the_fsync(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is not answered before the disk has said that its block is durable."""
    order = []
    real = os.fdatasync

    def noted(file: int) -> None:
        real(file)
        order.append("durable")

    monkeypatch.setattr(os, "fdatasync", noted)

    async def scenario() -> None:
        journal = opened(folder)
        await journal.append(one())
        order.append("answered")
        await journal.close()

    asyncio.run(scenario())
    assert order == ["durable", "answered"]


def test_a_block_has_a_bounded_size(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood is cut into blocks of bounded size, and one request larger than that is a block alone."""
    monkeypatch.setattr(group_commit, "BLOCK_BYTES", 1_000)

    async def scenario() -> int:
        journal = opened(folder)
        sizes = [400, 400, 400, 5_000, 400]
        await asyncio.gather(*(journal.append(one(b"x" * size)) for size in sizes))
        await journal.close()
        return journal.durable

    durable = asyncio.run(scenario())
    blocks = [[len(record.payload) for record in b.records] for b in read_blocks(folder.journal, -1, durable)]
    assert all(sum(sizes) <= 1_400 or len(sizes) == 1 for sizes in blocks)
    assert len(blocks) >= 3
    assert [size for sizes in blocks for size in sizes] == [400, 400, 400, 5_000, 400]


def test_a_block_ends_when_decode_asks_for_more(folder: DataFolder) -> None:
    """While decode is busy, commits go into one block; when it asks, that block is sealed for good."""

    async def scenario() -> list[int]:
        journal = opened(folder)
        busy = [await journal.append(one()) for _ in range(3)]
        sealed = await journal.wait_beyond(-1)
        after = await journal.append(one())
        await journal.close()
        return [*busy, sealed, after]

    assert asyncio.run(scenario()) == [0, 0, 0, 0, 1]


def test_an_idle_decode_gets_the_next_commit_at_once(folder: DataFolder) -> None:
    """When decode waits already, the first commit is a block and is handed over without waiting for more."""

    async def scenario() -> None:
        journal = opened(folder)
        asked = asyncio.create_task(journal.wait_beyond(-1))
        await asyncio.sleep(0.05)
        started_s = time.monotonic()
        await journal.append(one())
        assert await asked == 0
        assert time.monotonic() - started_s < 0.2
        assert await journal.append(one()) == 1
        await journal.close()

    asyncio.run(scenario())


def test_a_full_journal_refuses_and_takes_again_once_loaded(folder: DataFolder) -> None:
    """At its bound the journal refuses; when the warehouse has loaded its blocks there is room again."""

    async def scenario() -> None:
        journal = opened(folder, max_bytes=1_000)
        await journal.append(one(b"x" * 700))
        with pytest.raises(JournalFullError, match="journal_max_mib"):
            await journal.append(one(b"x" * 700))
        assert await journal.wait_beyond(-1) == 0
        (folder.loaded / journal.name).write_text("0", encoding="ascii")
        await asyncio.sleep(1)
        assert await journal.append(one(b"x" * 700)) == 1
        await journal.close()

    asyncio.run(scenario())


def test_loaded_requests_leave_the_disk_soon(folder: DataFolder) -> None:
    """Within a second of being loaded a request is nowhere in the journal, even if nothing else arrives."""

    async def scenario() -> None:
        journal = opened(folder)
        await journal.append(one(b"a planted prompt"))
        assert await journal.wait_beyond(-1) == 0
        (folder.loaded / journal.name).write_text("0", encoding="ascii")
        await asyncio.sleep(1)
        left = b"".join(segment.path.read_bytes() for segment in segments(folder.journal))
        assert left == b""
        await journal.close()

    asyncio.run(scenario())


def test_when_the_disk_refuses_senders_are_told_to_try_later(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed fsync fails every request of its group, and the journal goes on working."""

    def refuse(_: int) -> None:
        raise OSError(28, "no space left")

    async def scenario() -> None:
        journal = opened(folder)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", refuse)
            with pytest.raises(JournalFullError, match="no space left"):
                await journal.append(one(b"lost"))
        sequence = await journal.append(one(b"kept"))
        await journal.close()
        (kept,) = read_blocks(folder.journal, sequence - 1, sequence)
        assert [record.payload for record in kept.records] == [b"kept"]

    asyncio.run(scenario())


def test_closing_makes_what_waits_durable(folder: DataFolder) -> None:
    """A request that was taken before the stop is answered, and none is taken after."""

    async def scenario() -> None:
        journal = opened(folder)
        waiting = [asyncio.create_task(journal.append(one())) for _ in range(5)]
        await asyncio.sleep(0)
        await journal.close()
        assert len(await asyncio.gather(*waiting)) == 5
        with pytest.raises(JournalFullError):
            await journal.append(one())

    asyncio.run(scenario())
