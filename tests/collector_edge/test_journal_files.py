import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.journal.frame import frame_at, pack, read_records
from collector.journal.reader import read_blocks
from collector.journal.record import Block, Record
from collector.journal.segments import journal_name, segments
from collector.journal.writer import JournalWriter
from taximeter.errors import BusyError
from taximeter.layout import DataFolder
from warehouse.rows import block_name

SEGMENT_BYTES = 4_096

record = st.builds(
    Record,
    signal=st.sampled_from(["traces", "metrics", "logs"]),
    tenant=st.text(max_size=20),
    received_ns=st.integers(0, 2**63 - 1),
    peer=st.text(max_size=20),
    payload=st.binary(max_size=300),
)


def one(payload: bytes = b"x") -> Record:
    return Record("traces", "default", 7, "127.0.0.1", payload)


def opened(folder: DataFolder, segment_bytes: int = SEGMENT_BYTES) -> JournalWriter:
    return JournalWriter(folder, segment_bytes=segment_bytes)


def block(writer: JournalWriter, *payloads: bytes) -> int:
    """Commit records and seal the block; returns its sequence."""
    writer.commit([one(payload) for payload in payloads])
    return writer.seal()


def payloads(folder: DataFolder, after: int, until: int) -> list[list[bytes]]:
    return [
        [record.payload for record in block.records] for block in read_blocks(folder.journal, after, until)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data").make()


@given(st.lists(record, min_size=1, max_size=5), st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_a_frame_gives_back_what_was_packed(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], sequence: int
) -> None:
    """Packing a block and reading it back changes nothing."""
    path = tmp_path_factory.mktemp("frame") / "one"
    path.write_bytes(pack(sequence, records))
    file = os.open(path, os.O_RDONLY)
    frame = frame_at(file, 0)
    assert frame is not None
    assert (frame.sequence, read_records(file, frame)) == (sequence, tuple(records))
    os.close(file)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_single_flipped_bit_goes_unseen(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A frame with any one bit changed is never read as a block."""
    whole = bytearray(pack(3, [one(b"prompt"), one(b"answer")]))
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[bit // 8] ^= 1 << bit % 8
    path = tmp_path_factory.mktemp("flip") / "one"
    path.write_bytes(whole)
    file = os.open(path, os.O_RDONLY)
    frame = frame_at(file, 0)
    assert frame is None or read_records(file, frame) is None
    os.close(file)


def test_sequences_count_up_from_zero_and_go_on_after_a_restart(folder: DataFolder) -> None:
    """Blocks are numbered without gaps, across restarts, and the journal keeps its name."""
    first = opened(folder)
    assert [block(first, b"a"), block(first, b"b")] == [0, 1]
    first.close()
    second = opened(folder)
    assert block(second, b"c", b"d") == 2
    second.close()
    assert second.name == first.name
    assert payloads(folder, -1, 2) == [[b"a"], [b"b"], [b"c", b"d"]]


def test_a_journal_name_is_made_once_and_names_blocks(folder: DataFolder) -> None:
    """A journal's name never changes and holds no dash, so that block names can be read back."""
    name = journal_name(folder.journal)
    assert name == journal_name(folder.journal)
    assert name[0] == "j"
    assert int(name[1:], 16) >= 0
    assert block_name(name, 1).count("-") == 1


def test_two_data_folders_are_two_journals(tmp_path: Path) -> None:
    """Journals of different installations have different names, so that a warehouse can tell them apart."""
    names = {journal_name(DataFolder(tmp_path / str(number)).make().journal) for number in range(8)}
    assert len(names) == 8


@pytest.mark.parametrize("kept_bytes", [1, 23, 24, 40])
def test_a_torn_tail_is_cut_and_its_number_is_given_again(folder: DataFolder, kept_bytes: int) -> None:
    """A write that a crash cut short leaves no block, and what was whole before it stays."""
    writer = opened(folder)
    writer.commit([one(b"whole")])
    writer.close()
    path = segments(folder.journal)[-1].path
    size = path.stat().st_size
    with path.open("ab") as out:
        out.write(pack(1, [one(b"never acknowledged")])[:kept_bytes])
    again = opened(folder)
    assert path.stat().st_size == size
    assert again.commit([one(b"next")]) == 1
    again.close()
    assert payloads(folder, -1, 1) == [[b"whole"], [b"next"]]


def test_a_damaged_block_in_the_middle_costs_only_itself(folder: DataFolder) -> None:
    """A block whose bytes rotted is told as a block without records; those around it are read."""
    writer = opened(folder)
    for payload in (b"first", b"second", b"third"):
        block(writer, payload)
    writer.close()
    path = segments(folder.journal)[0].path
    path.write_bytes(path.read_bytes().replace(b"second", b"sEcond"))
    opened(folder).close()
    assert payloads(folder, -1, 2) == [[b"first"], [], [b"third"]]


def test_reading_starts_after_a_sequence_and_ends_at_one(folder: DataFolder) -> None:
    """A reader gets exactly the blocks between two sequences, whatever segments they lie in."""
    writer = opened(folder, segment_bytes=100)
    for number in range(10):
        block(writer, b"%d" % number * 30)
    writer.close()
    assert len(segments(folder.journal)) > 3
    for after in range(-1, 10):
        for until in range(after, 10):
            got = [block.sequence for block in read_blocks(folder.journal, after, until)]
            assert got == list(range(after + 1, until + 1))


def test_a_segment_goes_when_all_its_blocks_are_loaded(folder: DataFolder) -> None:
    """Segments are deleted in order, never one with a block that is not loaded."""
    writer = opened(folder, segment_bytes=100)
    for number in range(6):
        block(writer, b"%d" % number * 100)
    for loaded in range(6):
        writer.prune(loaded)
        left = [block.sequence for block in read_blocks(folder.journal, loaded, 5)]
        assert left == list(range(loaded + 1, 6))
        assert writer.used_bytes == sum(segment.path.stat().st_size for segment in segments(folder.journal))
    assert writer.used_bytes == 0
    writer.close()


def test_the_active_segment_goes_too_and_the_count_goes_on(folder: DataFolder) -> None:
    """Once everything is loaded no request is left on disk, and no number is given twice."""
    writer = opened(folder, segment_bytes=1 << 20)
    block(writer, b"a prompt")
    writer.prune(0)
    assert all(b"prompt" not in path.read_bytes() for path in folder.journal.iterdir())
    writer.close()
    again = opened(folder)
    assert again.commit([one()]) == 1
    again.close()


def test_no_number_is_given_that_was_handed_on(folder: DataFolder) -> None:
    """Even if the disk lost the journal's end, no new block takes the number of one that was handed on."""
    writer = opened(folder)
    writer.commit([one()])
    writer.close()
    (folder.inbox / block_name(writer.name, 4)).mkdir()
    (folder.loaded / writer.name).write_text("2", encoding="ascii")
    again = opened(folder)
    assert again.sequence == 5
    again.close()


def test_requests_are_for_the_owner_only(folder: DataFolder) -> None:
    """Segments have mode 0600 in a folder with mode 0700: they hold prompts."""
    writer = opened(folder)
    writer.commit([one(b"a prompt")])
    modes = {stat.S_IMODE(segment.path.stat().st_mode) for segment in segments(folder.journal)}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.journal.stat().st_mode) == 0o700
    writer.close()


def test_a_journal_has_one_writer(folder: DataFolder) -> None:
    """A second collector on the same data folder is refused with a line that says what to do."""
    writer = opened(folder)
    with pytest.raises(BusyError, match="--data"):
        opened(folder)
    writer.close()
    opened(folder).close()


def test_after_a_failed_fsync_nothing_is_written_behind_doubtful_bytes(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block whose fsync failed is not acknowledged, and the next block goes into a fresh segment."""
    writer = opened(folder)
    writer.commit([one(b"first")])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", _refuse)
        with pytest.raises(OSError, match="no space"):
            writer.commit([one(b"doubtful")])
    sequence = writer.commit([one(b"good")])
    writer.close()
    assert sequence == 1
    assert [segment.first for segment in segments(folder.journal)] == [0, 1]
    assert payloads(folder, -1, 1) == [[b"first"], [b"good"]]


def test_a_write_that_fails_half_way_leaves_nothing(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk takes half a block, the half goes away and its number is given to the next block."""
    writer = opened(folder)
    writer.commit([one(b"first")])
    real = os.write
    with monkeypatch.context() as patch:
        writes = iter([lambda file, data: real(file, data[:10]), _refuse])

        def half_then_full(file: int, data: bytes) -> int:
            return next(writes)(file, data)

        patch.setattr(os, "write", half_then_full)
        with pytest.raises(OSError, match="no space"):
            writer.commit([one(b"half")])
    assert writer.commit([one(b"second")]) == 1
    writer.close()
    assert list(read_blocks(folder.journal, -1, 1)) == [
        Block(writer.name, 0, (one(b"first"),)),
        Block(writer.name, 1, (one(b"second"),)),
    ]


def _refuse(*_: object) -> int:
    raise OSError(28, "no space")


def test_a_block_may_be_several_commits(folder: DataFolder) -> None:
    """Commits before a seal are one block, read back in order; a restart seals what was open."""
    writer = opened(folder)
    writer.commit([one(b"a")])
    writer.commit([one(b"b"), one(b"c")])
    assert writer.seal() == 0
    assert writer.seal() == 0
    writer.commit([one(b"d")])
    writer.close()
    again = opened(folder)
    assert again.commit([one(b"e")]) == 2
    again.close()
    assert payloads(folder, -1, 2) == [[b"a", b"b", b"c"], [b"d"], [b"e"]]


def test_an_open_block_is_never_deleted(folder: DataFolder) -> None:
    """A segment with a block that is not sealed yet stays, whatever is said to be loaded."""
    writer = opened(folder)
    block(writer, b"sealed")
    writer.commit([one(b"open")])
    writer.prune(0)
    assert payloads(folder, 0, 1) == [[b"open"]]
    writer.close()
