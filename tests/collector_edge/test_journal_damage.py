"""Bytes that change on the disk: what is whole is read, what is not is told, and nothing goes unseen."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.journal.frame import FRAME_OVERHEAD_BYTES
from collector.journal.reader import read_blocks
from collector.journal.record import Record
from collector.journal.segments import segments
from collector.journal.writer import JournalWriter
from taximeter.layout import DataFolder

SEGMENT_BYTES = 1 << 20
BLOCKS = 10


def filled(path: Path) -> tuple[DataFolder, list[int]]:
    """Write ten blocks of two commits into one segment; give the offsets of the commits."""
    folder = DataFolder(path).make()
    writer = JournalWriter(folder, segment_bytes=SEGMENT_BYTES)
    offsets = []
    for number in range(BLOCKS):
        for half in range(2):
            offsets.append(segments(folder.journal)[0].path.stat().st_size)
            writer.commit([Record("traces", "default", number, "p", bytes([number, half]) * 100)])
        writer.seal()
    writer.close()
    return folder, offsets


def read(folder: DataFolder, until: int = BLOCKS - 1) -> tuple[list[bytes], int]:
    """Give the first two bytes of every record that is read, and how many commits are told to be damaged."""
    blocks = list(read_blocks(folder.journal, -1, until))
    return [record.payload[:2] for block in blocks for record in block.records], sum(
        b.damaged for b in blocks
    )


def flip(folder: DataFolder, at: int, bit: int) -> None:
    path = segments(folder.journal)[0].path
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def restart(folder: DataFolder) -> int:
    writer = JournalWriter(folder, segment_bytes=SEGMENT_BYTES)
    sequence = writer.sequence
    writer.close()
    return sequence


@given(
    commit=st.integers(0, 2 * BLOCKS - 1),
    byte=st.integers(0, FRAME_OVERHEAD_BYTES + 200),
    bit=st.integers(0, 7),
    restarts=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_costs_its_own_commit_and_is_told(
    tmp_path_factory: pytest.TempPathFactory, *, commit: int, byte: int, bit: int, restarts: bool
) -> None:
    """Wherever a bit flips, in a header or a body, all other commits are read, before and after a restart."""
    folder, offsets = filled(tmp_path_factory.mktemp("j"))
    flip(folder, offsets[commit] + byte, bit)
    if restarts:
        restart(folder)
    found, damaged = read(folder)
    sequences = [block.sequence for block in read_blocks(folder.journal, -1, BLOCKS - 1)]
    assert sequences == list(range(BLOCKS))
    others = [bytes([number, half]) for number in range(BLOCKS) for half in range(2)]
    lost = others.pop(commit)
    assert [one for one in found if one in set(others)] == others
    assert lost not in found
    is_last = commit == 2 * BLOCKS - 1
    # The last commit may as well be a write that a crash cut short: then its bytes are kept aside.
    assert damaged or (is_last and (not restarts or list(folder.quarantine.iterdir())))


def test_good_commits_behind_a_damaged_header_survive_a_restart(tmp_path: Path) -> None:
    """The magic of a frame in the middle is gone: what is behind it is still there at the next start."""
    folder, offsets = filled(tmp_path)
    flip(folder, offsets[2], 0)
    assert restart(folder) == BLOCKS
    found, damaged = read(folder)
    assert len(found) == 2 * BLOCKS - 1
    assert damaged


def test_a_long_stretch_of_rubbish_is_passed_over(tmp_path: Path) -> None:
    """A page that the disk lost costs what was in it."""
    folder, offsets = filled(tmp_path)
    path = segments(folder.journal)[0].path
    content = bytearray(path.read_bytes())
    chance = random.Random(3)
    content[offsets[4] + 5 : offsets[9] + 30] = chance.randbytes(offsets[9] + 30 - offsets[4] - 5)
    path.write_bytes(content)
    restart(folder)
    found, damaged = read(folder)
    assert len(found) == 2 * BLOCKS - 6
    assert damaged


def test_what_is_cut_off_the_end_is_kept(tmp_path: Path) -> None:
    """A torn write is cut, as nobody was told that it is durable; its bytes lie in the quarantine."""
    folder, _ = filled(tmp_path)
    path = segments(folder.journal)[0].path
    with path.open("ab") as file:
        file.write(b"TXJ1 half a commit")
    assert restart(folder) == BLOCKS
    (kept,) = folder.quarantine.iterdir()
    assert kept.read_bytes() == b"TXJ1 half a commit"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert len(read(folder)[0]) == 2 * BLOCKS
