"""Appending: which bytes are in the journal, and when they are durable."""

import itertools
import logging
import os
from collections.abc import Sequence

from collector.journal.frame import next_frame, pack
from collector.journal.progress import highest_seen
from collector.journal.quarantine import keep_tail
from collector.journal.record import Record
from collector.journal.segments import journal_name, lock, segment_path, segments, sync_folder
from taximeter.layout import DataFolder

_LOG = logging.getLogger(__name__)

_KEPT_TAIL_BYTES = 16 * 1024 * 1024


class JournalWriter:
    """The one writer of a journal folder. Not safe for threads: one thread owns it after it is made.

    Commits go into the open block until it is sealed; a segment begins with a block and holds whole blocks.

    Attributes:
        name: the journal's name, the same after every restart.
        sequence: the block that the next commit belongs to.
        open_bytes: how much of that block is durable already.
        used_bytes: what the segments hold on disk.
    """

    def __init__(self, folder: DataFolder, *, segment_bytes: int) -> None:
        """Open the journal, cut what a crash left half-written, and go on after the last block.

        No block gets a number that was handed on before, even if the disk lost the block itself.

        Raises:
            BusyError: another process writes this journal.
        """
        self._data = folder
        self._folder = folder.journal
        self._lock = lock(self._folder, "writer")
        self.name = journal_name(self._folder)
        self._segment_bytes = segment_bytes
        self.sequence = max(self._cut_tail(), highest_seen(folder, self.name)) + 1
        self.open_bytes = 0
        self._file = self._new_segment()
        self._size = 0
        self._must_rotate = False
        self.used_bytes = sum(segment.path.stat().st_size for segment in segments(self._folder))

    def commit(self, records: Sequence[Record]) -> int:
        """Append records to the open block and make them durable; returns the block's sequence.

        Raises:
            OSError: the disk refused. None of these records counts as durable then.
        """
        if self._must_rotate:
            self.seal()
            self._next_segment()
        frame = pack(self.sequence, records)
        try:
            self._append(frame)
        except OSError:
            # After a failed write nobody knows what the disk kept: never write behind it.
            self._must_rotate = True
            self._take_back(frame)
            raise
        self._size += len(frame)
        self.used_bytes += len(frame)
        self.open_bytes += len(frame)
        return self.sequence

    def seal(self) -> int:
        """End the open block, if it holds anything; returns the last block that is sealed, -1 for none."""
        if self.open_bytes:
            self.sequence += 1
            self.open_bytes = 0
            self._must_rotate |= self._size >= self._segment_bytes
        return self.sequence - 1

    def prune(self, loaded: int) -> None:
        """Delete segments whose blocks are all loaded, the active one too: raw requests must not linger."""
        if loaded >= self.sequence - 1 and self._size and not self.open_bytes:
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
        while view:
            view = view[os.write(self._file, view) :]
        os.fdatasync(self._file)

    def _take_back(self, frame: bytes) -> None:
        try:
            os.ftruncate(self._file, self._size)
        except OSError:  # it may be there for all we know, so its block's number is used up
            self.open_bytes += len(frame)

    def _next_segment(self) -> None:
        file = self._new_segment()
        os.close(self._file)
        self._file = file
        self._size = 0
        self._must_rotate = False

    def _new_segment(self) -> int:
        # A file of this name can hold nothing durable, only what is left of a failed write.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        file = os.open(segment_path(self._folder, self.sequence), flags, 0o600)
        sync_folder(self._folder)
        return file

    def _cut_tail(self) -> int:
        """Cut the last segment after its last whole commit; returns the block of that, -1 for none.

        What is cut is an unfinished write, which nobody was told is durable, or the last commit, damaged: no
        reader can tell them apart, so the bytes are kept in the quarantine.
        """
        known = segments(self._folder)
        if not known:
            return -1
        first, path = known[-1]
        last = first - 1
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            end = 0
            while frame := next_frame(file, end):
                last, end = frame.sequence, frame.end
            torn = os.pread(file, _KEPT_TAIL_BYTES, end)
            if torn:
                _LOG.warning(
                    "cut %d bytes of an unfinished write from the journal", os.fstat(file).st_size - end
                )
                keep_tail(self._data, path.stem, torn)
                os.ftruncate(file, end)
                os.fsync(file)
        finally:
            os.close(file)
        return last
