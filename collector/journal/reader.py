"""Reading blocks back in order, while the writer goes on writing."""

import itertools
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from collector.journal.frame import Frame, frame_at, read_records
from collector.journal.record import Block
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
        for sequence, commits in itertools.groupby(_frames(file), key=lambda frame: frame.sequence):
            if sequence > until:
                return
            if sequence >= start:
                yield _block(name, sequence, file, commits)
    finally:
        os.close(file)


def _frames(file: int) -> Iterator[Frame]:
    at = 0
    while frame := frame_at(file, at):
        yield frame
        at = frame.end


def _block(name: str, sequence: int, file: int, commits: Iterable[Frame]) -> Block:
    read = [read_records(file, frame) for frame in commits]
    damaged = read.count(None)
    if damaged:
        _LOG.error("%d commits of block %d of the journal are damaged", damaged, sequence)
    return Block(name, sequence, tuple(record for records in read for record in records or ()), damaged)


def _missing(name: str, start: int, stop: int) -> Iterator[Block]:
    for sequence in range(start, stop):
        _LOG.error("block %d of the journal is gone", sequence)
        yield Block(name, sequence, (), damaged=1)
