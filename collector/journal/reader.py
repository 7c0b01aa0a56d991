"""Reading blocks back in order, while the writer goes on writing."""

import itertools
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from collector.journal.frame import Frame, frame_at, next_frame, read_records
from collector.journal.record import Block, Record
from collector.journal.segments import Segment, journal_name, segments

_LOG = logging.getLogger(__name__)


def read_blocks(folder: Path, after: int, until: int) -> Iterator[Block]:
    """Yield the blocks with `after < sequence <= until`, in order.

    `until` must be sealed (the writer said so). A number whose bytes are gone yields a block without records,
    so that whoever counts blocks can go on and can say that something is missing.
    """
    name = journal_name(folder)
    expected = after + 1
    for segment in _from(segments(folder), expected):
        for block in _segment_blocks(name, segment, expected, until):
            yield from _missing(name, expected, block.sequence)
            yield block
            expected = block.sequence + 1
    yield from _missing(name, expected, until + 1)


def _from(known: list[Segment], sequence: int) -> list[Segment]:
    """Leave out the segments that end before `sequence`."""
    firsts = [segment.first for segment in known]
    start = max((index for index, first in enumerate(firsts) if first <= sequence), default=0)
    return known[start:]


def _segment_blocks(name: str, segment: Segment, start: int, until: int) -> Iterator[Block]:
    try:
        file = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # loaded and deleted since it was listed
        return
    try:
        found = _commits(file, segment.first, start, until)
        for sequence, commits in itertools.groupby(found, key=lambda commit: commit.sequence):
            if sequence > until:
                return
            if sequence >= start:
                yield _block(name, sequence, commits)
    finally:
        os.close(file)


class _Commit(NamedTuple):
    """A commit of a block; without records it is damaged. `behind_damage`: at least one is lost before it."""

    sequence: int
    records: tuple[Record, ...] | None
    behind_damage: bool


def _commits(file: int, first: int, start: int, until: int) -> Iterator[_Commit]:
    """Walk a segment, whose first block is `first`, up to block `until`; those before `start` stay unread.

    Where no frame begins, or one that is damaged ends, the next whole one is looked for. A header that does
    not go on from the one before may be damaged itself, so its checksum is asked first.
    """
    at = sure = 0  # `sure` is the last place of which it is known that a frame or rubbish begins there
    last = first - 1
    while True:
        frame, behind_damage = frame_at(file, at), False
        # Behind the last block that is asked for, bytes that are no frame are a write that goes on.
        if last < until and not _goes_on(frame, last, until) and at < os.fstat(file).st_size:
            frame = next_frame(file, sure)
            behind_damage = frame is not None and frame.offset != at
        if frame is None:
            return
        records = read_records(file, frame) if frame.sequence >= start else ()
        yield _Commit(frame.sequence, records, behind_damage)
        at, last = frame.end, frame.sequence
        if records is None:  # nor is its length to be believed
            following = next_frame(file, frame.offset + 1)
            at = following.offset if following else frame.end
        sure = at if frame.sequence >= start else frame.offset + 1


def _goes_on(frame: Frame | None, last: int, until: int) -> bool:
    return frame is not None and frame.sequence <= until and frame.sequence in {last, last + 1}


def _block(name: str, sequence: int, commits: Iterable[_Commit]) -> Block:
    found = list(commits)
    damaged = sum((commit.records is None) + commit.behind_damage for commit in found)
    if damaged:
        _LOG.error("%d commits of block %d of the journal are damaged", damaged, sequence)
    records = tuple(record for commit in found for record in commit.records or ())
    return Block(name, sequence, records, damaged)


def _missing(name: str, start: int, stop: int) -> Iterator[Block]:
    for sequence in range(start, stop):
        _LOG.error("block %d of the journal is gone", sequence)
        yield Block(name, sequence, (), damaged=1)
