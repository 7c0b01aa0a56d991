"""A block that was damaged in the inbox comes again out of the journal, once; nothing is lost or doubled."""

from pathlib import Path

import pytest

from collector.decode import DecodeOptions, decode_block
from collector.decode.testing import make_record, make_request, make_span
from collector.journal.writer import JournalWriter
from collector.worker import Worker
from taximeter.clock import ManualClock
from taximeter.layout import DataFolder
from warehouse.testing import Store, store

OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
BLOCKS = 3


def worker(folder: DataFolder) -> Worker:
    return Worker(folder, lambda records: decode_block(records, OPTIONS), lambda _: None, ManualClock())


@pytest.fixture
def journal(tmp_path: Path) -> JournalWriter:
    writer = JournalWriter(DataFolder(tmp_path).make(), segment_bytes=1 << 20)
    for number in range(BLOCKS):
        span = make_span(number=number + 1, trace=number + 1)
        writer.commit([make_record(make_request(span))])
        writer.seal()
    return writer


def damage(folder: DataFolder, journal: JournalWriter, number: int) -> None:
    file = folder.inbox / f"{journal.name}-{number:012d}" / "spans.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def spans(warehouse: Store) -> int:
    return int(warehouse.sql("select count(*) from spans")[0][0])


@pytest.mark.parametrize("restarts", [False, True])
def test_a_damaged_block_comes_again(tmp_path: Path, journal: JournalWriter, *, restarts: bool) -> None:
    """The journal keeps what is not loaded; it is decoded once more, at once or at the next start."""
    folder = DataFolder(tmp_path)
    decoding = worker(folder)
    decoding.run(BLOCKS - 1)
    damage(folder, journal, 1)
    with store(tmp_path) as warehouse:
        assert warehouse.load_inbox().quarantined == 1
        assert spans(warehouse) == 2
        journal.prune(int((folder.loaded / journal.name).read_text()))
        (worker(folder) if restarts else decoding).run(BLOCKS - 1)
        warehouse.load_inbox()
        assert spans(warehouse) == 3
        assert warehouse.sql("select count(*) from refused") == [(0,)]
        assert (folder.loaded / journal.name).read_text().strip() == str(BLOCKS - 1)
    journal.close()


def test_a_block_that_is_damaged_twice_is_told_and_not_asked_for_again(
    tmp_path: Path, journal: JournalWriter
) -> None:
    """What cannot be read the second time either is refused, so that nothing goes round for ever."""
    folder = DataFolder(tmp_path)
    decoding = worker(folder)
    decoding.run(BLOCKS - 1)
    damage(folder, journal, 1)
    with store(tmp_path) as warehouse:
        warehouse.load_inbox()
        decoding.run(BLOCKS - 1)
        damage(folder, journal, 1)
        warehouse.load_inbox()
        decoding.run(BLOCKS - 1)
        warehouse.load_inbox()
        assert spans(warehouse) == 2
        assert warehouse.sql("select reason from refused") == [("undecodable",)]
        assert (folder.loaded / journal.name).read_text().strip() == str(BLOCKS - 1)
    journal.close()
