"""The files of a journal: its name, its lock, and its segments named by their first sequence."""

import fcntl
import os
import secrets
from pathlib import Path
from typing import NamedTuple

from taximeter.errors import BusyError

_SUFFIX = ".seg"


class Segment(NamedTuple):
    """One append-only file; `first` is the sequence of its first block, written or still to come."""

    first: int
    path: Path


def segment_path(folder: Path, first: int) -> Path:
    """Name the segment that begins with block `first`; sorting names sorts segments."""
    return folder / f"{first:012d}{_SUFFIX}"


def segments(folder: Path) -> list[Segment]:
    """List a journal's segments, oldest first."""
    return sorted(Segment(int(path.stem), path) for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdigit())


def journal_name(folder: Path) -> str:
    """Read the journal's name; the first call in a folder makes it, and it never changes after.

    It says which journal a block came from, so two installations that feed one warehouse cannot mix theirs.
    """
    file = folder / "name"
    if not file.exists():
        draft = folder / "name.draft"
        with draft.open("w", encoding="ascii") as out:
            out.write(f"j{secrets.token_hex(6)}")
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
        sync_folder(folder)
    return file.read_text(encoding="ascii").strip()


def sync_folder(folder: Path) -> None:
    """Make the names of a folder durable: a new file is not safe before its folder is."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock(folder: Path, purpose: str, *, wait: bool = False) -> int:
    """Hold the journal for one purpose until the process ends; returns the open file that holds it.

    Raises:
        BusyError: another process holds it, and `wait` is false.
    """
    handle = os.open(folder / f"{purpose}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        message = (
            f"another collector already writes to {folder.parent}; stop it, or give this one its own --data"
        )
        raise BusyError(message) from None
    return handle
