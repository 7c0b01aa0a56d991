"""Where requests wait until they are acknowledged: in memory, or in a folder that outlives the program.

Both are bounded: the oldest goes first, and is counted. In a folder each request is one file, named by a
number that only grows, written whole or not at all. Nobody else may use the folder meanwhile.
"""

import contextlib
import fcntl
import os
import threading
from collections import deque
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple, Protocol

from taximeter.errors import BusyError, SettingsError

LIMIT_BYTES = 64 << 20
FOLDER_LIMIT_BYTES = 256 << 20
_ENDING = ".otlp.gz"
_PART = ".part"
_LOCK = "lock"


class Waiting(NamedTuple):
    """One request: its place in the line, and its bytes as they are sent."""

    place: int
    body: bytes


class Spool(Protocol):
    """A line of requests. One thread puts, another takes: every method may be called from both."""

    def put(self, body: bytes) -> int:
        """Add one at the end; tell how many were pushed out at the front."""
        ...

    def first(self) -> Waiting | None:
        """Give the oldest without taking it away."""
        ...

    def done(self, place: int) -> None:
        """Take one away that was delivered or refused; one that was pushed out already is fine."""
        ...

    def __len__(self) -> int:
        """Requests that wait."""
        ...

    def close(self) -> None:
        """Use it no more; what waits stays where it is."""
        ...


class MemorySpool:
    """A line that ends with the program."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._line: deque[Waiting] = deque()
        self._bytes = 0
        self._next = 0
        self._guard = threading.Lock()

    def __len__(self) -> int:
        """Requests that wait."""
        return len(self._line)

    def put(self, body: bytes) -> int:
        """Add one; the newest stays even where it alone is over the limit."""
        dropped = 0
        with self._guard:
            self._line.append(Waiting(self._next, body))
            self._next += 1
            self._bytes += len(body)
            while self._bytes > self._limit_bytes and len(self._line) > 1:
                self._bytes -= len(self._line.popleft().body)
                dropped += 1
        return dropped

    def first(self) -> Waiting | None:
        """Give the oldest."""
        with self._guard:
            return self._line[0] if self._line else None

    def done(self, place: int) -> None:
        """Take one away."""
        with self._guard:
            if self._line and self._line[0].place == place:
                self._bytes -= len(self._line.popleft().body)

    def close(self) -> None:
        """Nothing to close."""


class FolderSpool:
    """A line on disk. What a program before this one left is in it, and goes first.

    Where the disk takes nothing more, the oldest makes room as it does at the limit; what cannot be written
    even then is dropped and counted.
    """

    def __init__(self, folder: Path, limit_bytes: int = FOLDER_LIMIT_BYTES) -> None:
        """Open the line, mode 0700.

        Raises:
            BusyError: another program uses this folder.
            SettingsError: the folder cannot be made or written.
        """
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._guard = threading.Lock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _only_one(folder / _LOCK)
            for left in folder.glob(f"*{_PART}"):
                left.unlink()
            self._sizes = dict(sorted(_kept(folder)))
        except OSError as error:
            message = f"{folder}: {error.strerror}: choose another folder to keep unsent samples in"
            raise SettingsError(message) from None
        self._bytes = sum(self._sizes.values())
        self._next = max(self._sizes, default=-1) + 1

    def __len__(self) -> int:
        """Requests that wait."""
        return len(self._sizes)

    def put(self, body: bytes) -> int:
        """Add one, on disk when this returns."""
        with self._guard:
            dropped = self._make_room(len(body))
            while not self._write(body):
                if not self._sizes:
                    return dropped + 1
                self._forget(next(iter(self._sizes)))
                dropped += 1
        return dropped

    def first(self) -> Waiting | None:
        """Read the oldest; one that cannot be read any more is passed over."""
        with self._guard:
            while self._sizes:
                place = next(iter(self._sizes))
                with contextlib.suppress(OSError):
                    return Waiting(place, self._path(place).read_bytes())
                self._forget(place)
            return None

    def done(self, place: int) -> None:
        """Take one away."""
        with self._guard:
            if place in self._sizes:
                self._forget(place)

    def close(self) -> None:
        """Let another program have the folder."""
        self._lock.close()

    def _make_room(self, size: int) -> int:
        dropped = 0
        while self._sizes and self._bytes + size > self._limit_bytes:
            self._forget(next(iter(self._sizes)))
            dropped += 1
        return dropped

    def _forget(self, place: int) -> None:
        self._bytes -= self._sizes.pop(place)
        with contextlib.suppress(OSError):
            self._path(place).unlink(missing_ok=True)

    def _write(self, body: bytes) -> bool:
        path = self._path(self._next)
        part = path.with_suffix(_PART)
        try:
            with part.open("wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            part.rename(path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            return False
        self._sizes[self._next] = len(body)
        self._bytes += len(body)
        self._next += 1
        return True

    def _path(self, place: int) -> Path:
        return self._folder / f"{place:012d}{_ENDING}"


def _kept(folder: Path) -> Iterator[tuple[int, int]]:
    for path in folder.glob(f"*{_ENDING}"):
        name = path.name.removesuffix(_ENDING)
        if name.isdecimal():
            yield int(name), path.stat().st_size


def _only_one(path: Path) -> TextIOWrapper:
    file = path.open("w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        message = f"{path.parent}: another agent keeps its unsent samples here; give this one another folder"
        raise BusyError(message) from None
    return file
