"""Files in: what people already have goes through the same door as live telemetry, exactly once.

A file becomes blocks of a journal that is named after its bytes, so that the same file read twice makes the
same blocks. Memory holds one block, however long the file is.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from collector.content_key import read_or_make
from collector.decode import DecodeOptions, decode_block
from collector.formats.by_map import KINDS, reader_by_map
from collector.formats.detect import Reading, Tables, detect
from collector.formats.parts import ITEMS_PER_PART, Bad, Note, Part
from collector.formats.source import READ_ERRORS, hash_file, open_plain
from collector.formats.summary import FileResult, ImportSummary
from collector.inbox import write_block
from collector.journal.record import Record
from collector.sources.read import with_own
from taximeter import settings as user_settings
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder
from warehouse import rows

TENANT = "default"
_JOURNAL_HEX_DIGITS = 16
_STAMPED = ("refused", "bills")  # rows that no reader of a file can date
_BLOCK_BYTES = 64 * 1024 * 1024  # content is long: a block ends there, however few items it holds

# Called after every block: the file, its blocks so far, its rows so far.
Progress = Callable[[Path, int, int], None]


def import_paths(
    paths: Iterable[Path],
    folder: DataFolder,
    options: DecodeOptions,
    clock: Clock,
    progress: Progress,
    *,
    zone: str | None = None,
    taken_at: str | None = None,
    reading: Callable[[Path], Reading] | None = None,
) -> ImportSummary:
    """Read files, and folders with all that is below them, into the inbox.

    A file that is not telemetry is skipped; one that is and cannot be read to its end is broken, and what
    could be read of it goes in. Times without a zone in sample files are read in `zone`; without one they
    are refused. Files that tell no time at all were taken at `taken_at` (ISO). With `reading` all files are
    read by it, whatever they look like.
    """
    importer = _Importer(folder, options, clock, progress, zone, taken_at, reading)
    return ImportSummary(tuple(importer.read(path) for path in _files(paths)))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for found in sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in found.relative_to(path).parts)
            if found.is_file() and not hidden:
                yield found


class _Importer(NamedTuple):
    folder: DataFolder
    options: DecodeOptions
    clock: Clock
    progress: Progress
    zone: str | None
    taken_at: str | None
    reading: Callable[[Path], Reading] | None

    def read(self, path: Path) -> FileResult:
        result = FileResult(path)
        try:
            reading = self.reading(path) if self.reading else self._detect(path)
            if reading is None:
                result.outcome, result.reasons = "skipped", ["not telemetry"]
                return result
            result.format = reading.format
            self._read_as(reading, result)
        except FileNotFoundError:
            result.break_off("there is no such file")
        except (OSError, EOFError, zstandard.ZstdError) as error:
            result.break_off(f"cannot be read: {error}")
        return result

    def _detect(self, path: Path) -> Reading | None:
        return detect(path, self.zone, path.name, self.taken_at)

    def _read_as(self, reading: Reading, result: FileResult) -> None:
        digest = hash_file(result.path, reading.format + reading.salt)
        writer = _Writer(self, f"import{digest[:_JOURNAL_HEX_DIGITS]}", result)
        with open_plain(result.path) as file:
            try:
                for item in reading.read(file):
                    writer.take(item)
            except READ_ERRORS as error:
                writer.take(Bad("the rest", str(error)))
        writer.finish()


class _Writer:
    """Gathers parts into blocks of a few thousand items and puts each into the inbox."""

    def __init__(self, importer: _Importer, journal: str, result: FileResult) -> None:
        self._importer = importer
        self._journal = journal
        self._result = result
        self._records: list[Record] = []
        self._items = 0
        self._bytes = 0
        self._broken: list[Bad] = []

    def take(self, item: Part | Bad | Note | Tables) -> None:
        if isinstance(item, Bad):
            self._broken.append(item)
            self._result.break_off(f"{item.where}: {item.reason}")
        elif isinstance(item, Note):
            self._result.reasons.append(item.text)
        elif isinstance(item, Part):
            self._take_part(item)
        else:
            self._write(item)

    def finish(self) -> None:
        self._flush()
        if self._broken:
            self._write({})

    def _take_part(self, part: Part) -> None:
        is_full = self._items + part.items > ITEMS_PER_PART or self._bytes + len(part.payload) > _BLOCK_BYTES
        if self._records and is_full:
            self._flush()
        now_ns = self._importer.clock.now_ns()
        peer = self._result.path.name
        self._records.append(Record(part.signal, TENANT, now_ns, peer, part.payload))
        self._items += part.items
        self._bytes += len(part.payload)

    def _flush(self) -> None:
        if self._records:
            self._write(decode_block(self._records, self._importer.options))
        self._records, self._items, self._bytes = [], 0, 0

    def _write(self, tables: Tables) -> None:
        tables = self._with_refused(tables)
        if not any(table.num_rows for table in tables.values()):
            return
        write_block(self._importer.folder, self._journal, self._result.blocks, tables)
        self._result.blocks += 1
        self._result.rows.update(
            {kind: table.num_rows for kind, table in tables.items() if kind != "refused"}
        )
        self._result.refused.update(tables["refused"].column("reason").to_pylist())
        self._importer.progress(self._result.path, self._result.blocks, self._result.rows.total())

    def _with_refused(self, tables: Tables) -> Tables:
        """Add a row for each stretch that could not be read since the last block, and say when."""
        now_ns = self._importer.clock.now_ns()
        broken = [_refused_stretch(bad, self._result.path.name) for bad in self._broken]
        self._broken = []
        refused = pa.concat_tables(
            [
                tables.get("refused", rows.REFUSED.empty_table()),
                pa.Table.from_pylist(broken, schema=rows.REFUSED),
            ]
        )
        stamped = {
            kind: _received(table, now_ns)
            for kind, table in {**tables, "refused": refused}.items()
            if kind in _STAMPED
        }
        return {**tables, **stamped}


def _received(table: pa.Table, now_ns: int) -> pa.Table:
    """Say when rows were received, where they do not say it themselves."""
    position = table.schema.get_field_index("received_ns")
    received = pc.coalesce(table.column(position), pa.scalar(now_ns, pa.int64()))
    return table.set_column(position, table.schema.field(position), received)


def _refused_stretch(bad: Bad, name: str) -> dict[str, str | None]:
    return {"tenant": TENANT, "signal": "file", "source": name, "field": bad.where, "reason": "undecodable"}


def main(argv: Sequence[str] | None = None) -> int:
    """Import the files that the command line names; the exit status as in `ImportSummary`."""
    arguments = _parser().parse_args(argv)
    try:
        settings = user_settings.load(arguments.config, data=arguments.data)
        folder = DataFolder(settings.data).make()
        options = DecodeOptions(
            content_key=read_or_make(folder.content_key),
            capture_text=settings.content.capture == "text",
            task_key=settings.task_key,
            sources=with_own(settings.collector.sources),
        )
        summary = import_paths(
            arguments.paths,
            folder,
            options,
            SYSTEM_CLOCK,
            _show_progress,
            zone=arguments.zone,
            taken_at=arguments.at,
            reading=reader_by_map(arguments.kind, arguments.map, arguments.zone),
        )
    except TaximeterError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    sys.stdout.write("\n".join(summary.as_lines()) + "\n")
    return summary.exit_status


def _show_progress(path: Path, blocks: int, row_count: int) -> None:
    sys.stderr.write(f"{path}: {row_count:,} rows in {blocks:,} blocks\n")


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError):
        message = f"there is no zone {name!r}"
        raise argparse.ArgumentTypeError(message) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taximeter import",
        description="Read traces, calls and GPU samples from files: OTLP (JSON or protobuf), Jaeger, Tempo"
        " and Langfuse exports, Claude Code session logs, aider's log, LiteLLM spend rows, and nvidia-smi"
        " style CSV or Parquet. A folder is read with all that is below it.",
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--data", type=Path, help="the data folder (default: that of the settings)")
    parser.add_argument("--config", type=Path, help="the settings file (default: taximeter.yaml)")
    parser.add_argument(
        "--zone", type=_zone, help="zone of sample times that name none, such as Europe/Berlin"
    )
    parser.add_argument(
        "--at", metavar="TIME", help="when files that tell no time were taken, such as 2026-12-01T10:00:00Z"
    )
    parser.add_argument("--as", dest="kind", choices=KINDS, help="read all files by a map")
    parser.add_argument("--map", help="the map: a file, or the name of one that is shipped")
    return parser
