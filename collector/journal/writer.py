"""Appending: which bytes are in the journal, and when they are durable."""

import itertools
import logging
import os
from collections.abc import Sequence

from collector.journal.frame import frame_at, pack, read_records
from collector.journal.progress import highest_seen
from collector.journal.record import Record
from collector.journal.segments import journal_name, lock, segment_path, segments, sync_folder
from taximeter.layout import DataFolder

_LOG = logging.getLogger(__name__)


class JournalWriter:
    """The one writer of a journal folder. Not safe for threads: one thread owns it after it is made.

    Attributes:
        name: the journal's name, the same after every restart.
        next_sequence: the sequence that the next block gets.
        used_bytes: what the segments hold on disk.
    """

    def __init__(self, folder: DataFolder, *, segment_bytes: int) -> None:
        """Open the journal, cut what a crash left half-written, and go on after the last block.

        No block gets a number that was handed on before, even if the disk lost the block itself.

        Raises:
            BusyError: another process writes this journal.
        """
        self._folder = folder.journal
        self._lock = lock(self._folder, "writer")
        self.name = journal_name(self._folder)
        self._segment_bytes = segment_bytes
        self.next_sequence = max(self._cut_tail(), highest_seen(folder, self.name)) + 1
        self._file = self._new_segment()
        self._size = 0
        self._sealed = False
        self.used_bytes = sum(segment.path.stat().st_size for segment in segments(self._folder))

    def commit(self, records: Sequence[Record]) -> int:
        """Append one block and make it durable; returns its sequence.

        Raises:
            OSError: the disk refused. Nothing of the block counts as durable then.
        """
        if self._sealed or self._size >= self._segment_bytes:
            self._next_segment()
        frame = pack(self.next_sequence, records)
        self._append(frame)
        sequence = self.next_sequence
        self.next_sequence += 1
        try:
            os.fdatasync(self._file)
        except OSError:
            # After a failed fsync nobody knows what is on disk: leave the block and its number behind,
            # and never write behind bytes that may be torn.
            self._sealed = True
            raise
        return sequence

    def prune(self, loaded: int) -> None:
        """Delete segments whose blocks are all loaded, the active one too: raw requests must not linger."""
        if loaded >= self.next_sequence - 1 and self._size:
            self._next_segment()
        known = segments(self._folder)
        for segment, following in itertools.pairwise(known):
            if following.first - 1 > loaded:
                break
            size = segment.path.stat().st_size
            segment.path.unlink()
            self.used_bytes -= size

    def close(self) -> None:
        """Close the files and let another process write."""
        os.close(self._file)
        os.close(self._lock)

    def _append(self, frame: bytes) -> None:
        view = memoryview(frame)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            self._sealed = True
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(frame)
        self.used_bytes += len(frame)

    def _next_segment(self) -> None:
        file = self._new_segment()
        os.close(self._file)
        self._file = file
        self._size = 0
        self._sealed = False

    def _new_segment(self) -> int:
        # A file of this name can hold no whole block, only what is left of a failed write.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        file = os.open(segment_path(self._folder, self.next_sequence), flags, 0o600)
        sync_folder(self._folder)
        return file

    def _cut_tail(self) -> int:
        """Cut the last segment after its last whole block; returns that block's sequence, -1 for none."""
        known = segments(self._folder)
        if not known:
            return -1
        first, path = known[-1]
        last = first - 1
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            at = end = 0
            while frame := frame_at(file, at):
                at = frame.end
                if read_records(file, frame) is not None:
                    last, end = frame.sequence, frame.end
            torn_bytes = os.fstat(file).st_size - end
            if torn_bytes:
                _LOG.warning("cut %d bytes of an unfinished write from the journal", torn_bytes)
                os.ftruncate(file, end)
                os.fsync(file)
        finally:
            os.close(file)
        return last
