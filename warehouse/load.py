"""Inbox to tables, each block exactly once.

The rows of a block and the mark that it is loaded are written in one transaction; only then does its folder
go. A block that is found again is dropped, unless a newer decoder wrote it: then its rows are replaced. A
block that cannot be read goes to quarantine and stops nothing. Where the collector still has its requests it
is asked for once more; else it leaves a row in `refused`.
"""

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from taximeter.errors import BadInputError
from taximeter.layout import DataFolder
from taximeter.quarantine import trim
from warehouse.inbox import ReadBlock, read_block, read_name, waiting, with_block
from warehouse.queries import query
from warehouse.rows import REFUSED, SCHEMAS

MAX_BLOCKS = 1_000
MAX_ROWS = 200_000
_DIRTIED_BY = {"spans": "load/dirty_traces", "samples": "load/dirty_times"}


class Summary(NamedTuple):
    """What a load did, in blocks and rows."""

    loaded: int = 0
    replaced: int = 0
    dropped: int = 0
    quarantined: int = 0
    rows: int = 0

    @property
    def blocks(self) -> int:
        """Blocks that left the inbox."""
        return self.loaded + self.replaced + self.dropped + self.quarantined

    def plus(self, other: "Summary") -> "Summary":
        """Add up two loads."""
        return Summary(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class _Arrival(NamedTuple):
    """A block that waits, read; a broken one stands as the one refused row that tells of it."""

    path: Path
    block: ReadBlock
    is_broken: bool

    @property
    def key(self) -> tuple[str, int]:
        """What a block is known by."""
        return self.block.journal, self.block.sequence


def load_all(connection: duckdb.DuckDBPyConnection, folder: DataFolder, now_ns: int) -> Summary:
    """Load all that waits, in as many transactions as its size needs."""
    total = Summary()
    while (done := load(connection, folder, now_ns)).blocks:
        total = total.plus(done)
    return total


def load(connection: duckdb.DuckDBPyConnection, folder: DataFolder, now_ns: int) -> Summary:
    """Load the first blocks of the inbox in one transaction, bounded by `MAX_BLOCKS` and about `MAX_ROWS`.

    Args:
        connection: the owner's; a cursor of it is used.
        folder: the data folder.
        now_ns: when this load runs.

    Returns:
        what was done; no blocks where none wait.
    """
    arrivals, sent_back = _part(folder, _read(folder.inbox, now_ns))
    for arrival in sent_back:
        _ask_again(folder, arrival)
    if not arrivals:
        return Summary(quarantined=len(sent_back))
    with connection.cursor() as cursor:
        cursor.begin()
        summary = _take(cursor, arrivals, now_ns)
        cursor.commit()
        write_loaded(cursor, folder, {arrival.block.journal for arrival in arrivals})
    for arrival in arrivals:
        if arrival.is_broken:
            _set_aside(arrival.path, folder.quarantine)
        else:
            shutil.rmtree(arrival.path)
    return summary.plus(Summary(quarantined=len(sent_back)))


def write_loaded(
    cursor: duckdb.DuckDBPyConnection, folder: DataFolder, journals: Iterable[str] | None = None
) -> None:
    """Tell the owner of each journal (of all if none are named) up to which block its rows are safe here."""
    watermarks = dict(cursor.execute(query("load/watermarks")).fetchall())
    for journal in watermarks if journals is None else sorted(set(journals) & watermarks.keys()):
        draft = folder.loaded / f".{journal}"
        draft.write_text(f"{watermarks[journal]}\n", encoding="ascii")
        draft.replace(folder.loaded / journal)


def _part(folder: DataFolder, arrivals: list[_Arrival]) -> tuple[list[_Arrival], list[_Arrival]]:
    """Part what is taken from what is asked for again: a damaged block of the collector's, the first time."""
    here = folder.journal_here()
    sent_back = [
        arrival
        for arrival in arrivals
        if arrival.is_broken
        and arrival.block.journal == here
        and not (folder.quarantine / arrival.path.name).exists()
    ]
    return [arrival for arrival in arrivals if arrival not in sent_back], sent_back


def _ask_again(folder: DataFolder, arrival: _Arrival) -> None:
    _set_aside(arrival.path, folder.quarantine)
    wanted = folder.wanted_again(arrival.block.journal)
    wanted.mkdir(exist_ok=True)
    (wanted / str(arrival.block.sequence)).touch()


def _read(inbox: Path, now_ns: int) -> list[_Arrival]:
    arrivals: list[_Arrival] = []
    rows = 0
    for path in waiting(inbox)[:MAX_BLOCKS]:
        arrivals.append(_read_one(path, now_ns))
        rows += arrivals[-1].block.rows
        if rows >= MAX_ROWS:
            break
    return arrivals


def _read_one(path: Path, now_ns: int) -> _Arrival:
    try:
        return _Arrival(path, read_block(path), is_broken=False)
    except BadInputError:
        return _Arrival(path, _tell_of(path, now_ns), is_broken=True)


def _tell_of(path: Path, now_ns: int) -> ReadBlock:
    try:
        journal, sequence = read_name(path)
    except BadInputError:
        journal, sequence = "unnamed", int(hashlib.sha256(path.name.encode()).hexdigest()[:12], 16)
    row = {"received_ns": now_ns, "signal": "file", "source": path.name, "reason": "undecodable"}
    refused = pa.Table.from_pylist([row], schema=REFUSED)
    return ReadBlock(journal, sequence, 0, {"refused": with_block(refused, journal, sequence, 0)})


def _take(cursor: duckdb.DuckDBPyConnection, arrivals: list[_Arrival], now_ns: int) -> Summary:
    known = _loaded_versions(cursor, arrivals)
    new = [arrival for arrival in arrivals if arrival.key not in known]
    newer = [a for a in arrivals if a.key in known and a.block.decoder_version > known[a.key]]
    if newer:
        _remove(cursor, newer)
    if new or newer:
        _insert(cursor, [arrival.block for arrival in new + newer])
    if new:
        _mark(cursor, [arrival.block for arrival in new], now_ns)
    broken = sum(arrival.is_broken for arrival in arrivals)
    loaded = sum(not arrival.is_broken for arrival in new)
    return Summary(
        loaded=loaded,
        replaced=len(newer),
        dropped=len(arrivals) - broken - loaded - len(newer),
        quarantined=broken,
        rows=sum(arrival.block.rows for arrival in new + newer),
    )


def _loaded_versions(
    cursor: duckdb.DuckDBPyConnection, arrivals: list[_Arrival]
) -> dict[tuple[str, int], int]:
    cursor.register("arriving_blocks", _keys(arrivals))
    found = cursor.execute(query("load/loaded_versions")).fetchall()
    cursor.unregister("arriving_blocks")
    return {(journal, sequence): version for journal, sequence, version in found}


def _remove(cursor: duckdb.DuckDBPyConnection, arrivals: list[_Arrival]) -> None:
    cursor.register("replaced", _keys(arrivals))
    cursor.execute(query("load/replaced_traces"))
    cursor.execute(query("load/replaced_times"))
    for kind in SCHEMAS:
        cursor.execute(query("load/delete").format(kind=kind))
    cursor.unregister("replaced")


def _insert(cursor: duckdb.DuckDBPyConnection, blocks: list[ReadBlock]) -> None:
    for kind in SCHEMAS:
        tables = [block.tables[kind] for block in blocks if kind in block.tables]
        if tables:
            # As one chunk: the database keeps buffers for every column of every chunk until the commit.
            cursor.register("arriving", pa.concat_tables(tables).combine_chunks())
            cursor.execute(query("load/insert").format(kind=kind))
            if kind in _DIRTIED_BY:
                cursor.execute(query(_DIRTIED_BY[kind]))
            cursor.unregister("arriving")


def _mark(cursor: duckdb.DuckDBPyConnection, blocks: list[ReadBlock], now_ns: int) -> None:
    rows = [
        {
            "journal": block.journal,
            "sequence": block.sequence,
            "decoder_version": block.decoder_version,
            "loaded_ns": now_ns,
            **{kind: block.tables[kind].num_rows if kind in block.tables else 0 for kind in SCHEMAS},
        }
        for block in blocks
    ]
    cursor.register("arriving", pa.Table.from_pylist(rows))
    cursor.execute(query("load/insert").format(kind="blocks"))
    cursor.unregister("arriving")
    cursor.execute(query("load/advance"))
    cursor.execute(query("load/merge_blocks"))


def _keys(arrivals: list[_Arrival]) -> pa.Table:
    journals, sequences = zip(*(arrival.key for arrival in arrivals), strict=True)
    return pa.table({"journal": pa.array(journals, pa.string()), "sequence": pa.array(sequences, pa.int64())})


def _set_aside(path: Path, quarantine: Path) -> None:
    target = quarantine / path.name
    if target.is_dir():
        shutil.rmtree(target)
    path.replace(target)
    trim(quarantine)
