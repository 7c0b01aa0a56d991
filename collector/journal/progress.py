"""How far a journal has come: what the warehouse has loaded, and what lies in the inbox for it."""

import os

from collector.journal.segments import segments
from taximeter.layout import DataFolder
from warehouse.rows import parse_block_name

INBOX_MAX_BLOCKS = 2_000
INBOX_MAX_BYTES = 1024 * 1024 * 1024


def read_loaded(folder: DataFolder, journal: str) -> int:
    """Read the sequence up to which every block of the journal is loaded; -1 where none is known to be."""
    try:
        return int((folder.loaded / journal).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return -1


def in_inbox(folder: DataFolder, journal: str) -> set[int]:
    """List the sequences of the journal's blocks that lie in the inbox."""
    found = set()
    for path in folder.inbox.iterdir():
        try:
            name, sequence = parse_block_name(path.name)
        except ValueError:
            continue
        if name == journal:
            found.add(sequence)
    return found


def highest_seen(folder: DataFolder, journal: str) -> int:
    """Tell the highest sequence that was handed on, -1 for none."""
    return max(in_inbox(folder, journal) | {read_loaded(folder, journal)})


def first_undone(folder: DataFolder, journal: str) -> int:
    """Tell the first sequence that is not known to be loaded; segments are deleted only when they are."""
    oldest = min((segment.first for segment in segments(folder.journal)), default=0)
    return max(read_loaded(folder, journal) + 1, oldest)


def inbox_is_full(folder: DataFolder) -> bool:
    """Tell whether the warehouse is so far behind that more should wait in the journal, which is bounded."""
    blocks = list(os.scandir(folder.inbox))
    return len(blocks) > INBOX_MAX_BLOCKS or sum(map(_size_bytes, blocks)) > INBOX_MAX_BYTES


def _size_bytes(block: os.DirEntry[str]) -> int:
    try:
        return sum(file.stat().st_size for file in os.scandir(block))
    except (FileNotFoundError, NotADirectoryError):  # loaded meanwhile
        return 0
