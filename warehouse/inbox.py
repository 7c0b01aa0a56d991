"""Reading the inbox: which blocks wait, and what each holds, brought to the schemas of `warehouse.rows`."""

import errno
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from taximeter.errors import BadInputError
from taximeter.layout import DataFolder
from warehouse.rows import DIGESTS, SCHEMAS, parse_block_name

BLOCK_COLUMNS = pa.schema(
    [("journal", pa.string()), ("sequence", pa.int64()), ("decoder_version", pa.int32())]
)
_JOURNAL = re.compile(r"\w[\w.]*")
_PASSING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # the machine's trouble, not the block's


class ReadBlock(NamedTuple):
    """A block of the inbox in memory; its tables have the columns of `rows` plus `BLOCK_COLUMNS`."""

    journal: str
    sequence: int
    decoder_version: int
    tables: dict[str, pa.Table]

    @property
    def rows(self) -> int:
        """Rows of all kinds."""
        return sum(table.num_rows for table in self.tables.values())


def waiting(inbox: Path) -> list[Path]:
    """List the blocks of an inbox so that the blocks of one journal stand in their order."""
    return sorted(path for path in inbox.iterdir() if not path.name.startswith("."))


class Intake(NamedTuple):
    """What stands in the folders before the warehouse, and since when the oldest block waits."""

    blocks_waiting: int
    oldest_waiting_ns: int | None
    blocks_quarantined: int


def look(folder: DataFolder) -> Intake:
    """Count what waits and what was set aside."""
    blocks = waiting(folder.inbox)
    arrivals = [arrived for arrived in map(_arrived_ns, blocks) if arrived is not None]
    return Intake(len(blocks), min(arrivals, default=None), len(waiting(folder.quarantine)))


def read_name(folder: Path) -> tuple[str, int]:
    """Tell a block's journal and sequence.

    Raises:
        BadInputError: this is not a block's name, or its journal could not name a file.
    """
    try:
        journal, sequence = parse_block_name(folder.name)
    except ValueError as error:
        raise BadInputError(str(error)) from None
    if not _JOURNAL.fullmatch(journal):
        message = f"{journal!r} cannot name a journal"
        raise BadInputError(message)
    return journal, sequence


def read_block(folder: Path) -> ReadBlock:
    """Read a block whole; columns that nobody knows are left out, columns that are missing are null.

    Raises:
        BadInputError: it is not a folder of Parquet files with the types of `warehouse.rows`.
    """
    journal, sequence = read_name(folder)
    files = {kind: folder / f"{kind}.parquet" for kind in SCHEMAS}
    digests = _read_digests(folder)
    raw = {kind: _read_table(file, digests) for kind, file in files.items() if file.exists()}
    _refuse_missing(digests, {file.name for file in folder.glob("*.parquet")})
    if not folder.is_dir() or (not raw and any(folder.iterdir())):
        message = f"{folder.name} holds no kind of row that is known"
        raise BadInputError(message)
    versions = {_decoder_version(table) for table in raw.values()}
    version = min(versions, default=0)
    tables = {
        kind: with_block(_conform(table, SCHEMAS[kind]), journal, sequence, version)
        for kind, table in raw.items()
        if table.num_rows
    }
    return ReadBlock(journal, sequence, version, tables)


def _arrived_ns(block: Path) -> int | None:
    try:
        return block.stat().st_mtime_ns
    except FileNotFoundError:  # it was loaded meanwhile
        return None


def _read_digests(folder: Path) -> dict[str, str]:
    """Read what the bytes of each file should be; a writer that does not say so is believed."""
    file = folder / DIGESTS
    if not file.exists():
        return {}
    try:
        lines = [line.split("  ") for line in _read_bytes(file).decode("ascii").splitlines()]
        return {name: digest for digest, name in lines}
    except ValueError:
        message = f"{DIGESTS} is damaged"
        raise BadInputError(message) from None


def _refuse_missing(digests: dict[str, str], found: set[str]) -> None:
    missing = digests.keys() - found
    if missing:
        message = f"{', '.join(sorted(missing))} is gone"
        raise BadInputError(message)


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        if error.errno in _PASSING:
            raise
        raise BadInputError(str(error)) from None


def _read_table(file: Path, digests: dict[str, str]) -> pa.Table:
    content = _read_bytes(file)
    if digests and hashlib.blake2b(content).hexdigest() != digests.get(file.name):
        message = f"{file.name} is damaged: its bytes are not those that were written"
        raise BadInputError(message)
    try:
        table = pq.read_table(pa.BufferReader(content))
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are no text are a ValueError
        raise BadInputError(str(error)) from None
    return table


def _decoder_version(table: pa.Table) -> int:
    try:
        return int((table.schema.metadata or {})[b"decoder_version"])
    except (KeyError, ValueError):
        message = "the file does not say which decoder wrote it"
        raise BadInputError(message) from None


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    try:
        for field in schema:
            position = table.schema.get_field_index(field.name)
            column = table.column(position) if position >= 0 else pa.nulls(table.num_rows, field.type)
            columns.append(column.cast(field.type))
    except pa.ArrowException as error:
        raise BadInputError(str(error)) from None
    return pa.table(columns, schema=schema)


def with_block(table: pa.Table, journal: str, sequence: int, version: int) -> pa.Table:
    """Append `BLOCK_COLUMNS`: which block and which decoder brought the rows."""
    for field, value in zip(BLOCK_COLUMNS, (journal, sequence, version), strict=True):
        table = table.append_column(field, pa.repeat(pa.scalar(value, field.type), table.num_rows))
    return table
