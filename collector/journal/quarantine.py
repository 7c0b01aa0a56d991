"""What could not be decoded: its bytes are set aside for a person, and the warehouse is told of it."""

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from collector.journal.record import Block, Record
from taximeter.layout import DataFolder
from taximeter.quarantine import trim
from warehouse.rows import REFUSED, block_name

_REASON = "undecodable"


def put_aside(folder: DataFolder, block: Block, records: Sequence[Record]) -> None:
    """Keep the payloads in the quarantine, one file each, readable by the owner only.

    The names come from the block, so doing it again overwrites and never doubles. The oldest that was set
    aside goes when the quarantine is full.
    """
    places = {id(record): number for number, record in enumerate(block.records)}
    for record in records:
        name = f"{block_name(block.journal, block.sequence)}-{places[id(record)]}.{record.signal}.pb"
        _keep(folder.quarantine / name, record.payload)
    trim(folder.quarantine)


def keep_tail(folder: DataFolder, segment: str, content: bytes) -> None:
    """Keep what was cut off the end of a segment, under the segment's name and its own length."""
    _keep(folder.quarantine / f"journal-{segment}-{len(content)}.tail", content)
    trim(folder.quarantine)


def _keep(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def undecodable(records: Sequence[Record]) -> pa.Table:
    """Make the refused rows of records that could not be decoded; value is the payload's length in bytes."""
    rows = [
        {
            "received_ns": record.received_ns,
            "tenant": record.tenant,
            "signal": record.signal,
            "source": record.peer,
            "value": str(len(record.payload)),
            "reason": _REASON,
        }
        for record in records
    ]
    return pa.Table.from_pylist(rows, schema=REFUSED)


def lost(received_ns: int, commits: int) -> pa.Table:
    """Make one refused row for each commit whose bytes are damaged or gone, told at `received_ns`."""
    row = {"received_ns": received_ns, "source": "journal", "reason": _REASON}
    return pa.Table.from_pylist([row] * commits, schema=REFUSED)
