"""A file as its readers see it: plain bytes, however it was compressed, and the hash that names it."""

import gzip
import hashlib
import io
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from taximeter.errors import BadInputError

# What reading a file to its end may raise: cut or damaged content, compression or disk.
READ_ERRORS = (BadInputError, OSError, EOFError, zstandard.ZstdError)
HEAD_BYTES = 64 * 1024
NO_TIME = "it tells no time: say when it was taken with --at, such as --at 2026-12-01T10:00:00Z"
_CHUNK_BYTES = 1024 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading forward; gzip and zstd are taken off, told by their first bytes.

    Raises:
        OSError: the file cannot be read, or (while reading) is not what its first bytes say.
    """
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(_GZIP):
        return cast("BinaryIO", gzip.open(path, "rb"))
    if magic == _ZSTD:
        reader = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", reader)))
    return path.open("rb")


def hash_file(path: Path, salt: str) -> str:
    """Hash a file's bytes as they lie on disk, and `salt` after them: sha256, hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    digest.update(salt.encode())
    return digest.hexdigest()


def read_head(path: Path) -> bytes:
    """Read the first bytes of a file, compression taken off: enough to tell what it is."""
    with open_plain(path) as file:
        return file.read(HEAD_BYTES)
