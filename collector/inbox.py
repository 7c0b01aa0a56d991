"""The door to the warehouse: a block appears in the inbox whole and durable, or not at all."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taximeter.layout import DataFolder
from warehouse.rows import DECODER_VERSION, DIGESTS, SCHEMAS, block_name


def write_block(folder: DataFolder, journal: str, sequence: int, tables: Mapping[str, pa.Table]) -> Path:
    """Put a block into the inbox by one rename, after its files are on the disk.

    A block that waits there already is left as it is: the same requests give the same rows. A block without
    any row is written too, as an empty folder, so that the warehouse sees no gap in the journal.

    Returns:
        The block's folder in the inbox.

    Raises:
        KeyError: a table is of no kind that `warehouse.rows` knows.
        pyarrow.ArrowInvalid: a table does not have its kind's schema.
    """
    name = block_name(journal, sequence)
    target = folder.inbox / name
    if target.exists():
        return target
    draft = folder.staging / f"{name}.{secrets.token_hex(4)}"
    draft.mkdir(parents=True)
    try:
        written = [
            _write(draft / f"{kind}.parquet", table.cast(SCHEMAS[kind]), journal, sequence)
            for kind, table in tables.items()
            if table.num_rows
        ]
        if written:
            _write_digests(draft, written)
        _sync(draft)
        _move(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _write(path: Path, table: pa.Table, journal: str, sequence: int) -> Path:
    about = {"journal": journal, "sequence": str(sequence), "decoder_version": str(DECODER_VERSION)}
    pq.write_table(table.replace_schema_metadata(about), path, compression="zstd")
    _sync(path)
    return path


def _write_digests(draft: Path, written: Sequence[Path]) -> None:
    """Say what each file's bytes are: a bit that flips on the disk is told, and never a wrong number."""
    lines = [f"{hashlib.blake2b(path.read_bytes()).hexdigest()}  {path.name}\n" for path in written]
    path = draft / DIGESTS
    path.write_text("".join(lines), encoding="ascii")
    _sync(path)


def _move(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError:
        if not target.exists():
            raise
        return  # another process was first with the same block
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
