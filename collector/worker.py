"""The decode process: takes durable blocks from the journal, in order, and puts their rows into the inbox.

It keeps no state of its own: what is done is what lies in the inbox or is loaded. Its parent tells it how far
blocks are durable (`collector.journal.link`); when the parent is gone, it ends.
"""

import argparse
import functools
import logging
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from collector.content_key import read_or_make
from collector.decode import DecodeOptions, decode_block
from collector.inbox import write_block
from collector.journal.link import Link
from collector.journal.progress import first_undone, in_inbox, inbox_is_full, read_loaded
from collector.journal.quarantine import lost, put_aside, undecodable
from collector.journal.reader import read_blocks
from collector.journal.record import Block, Record
from collector.journal.segments import journal_name, lock
from collector.sources.read import with_own
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.layout import DataFolder
from warehouse.rows import SCHEMAS

_LOG = logging.getLogger(__name__)
_RETRY_S = 0.5
# A block costs some 50 ms whatever is in it: after a small one, time is left in which the next may gather.
_SMALL_S = 0.1

_FIRST = Record("traces", "", 0, "", b"\x0a\x06\x12\x04\x12\x02\x2a\x00")  # one span without anything in it

Tables = dict[str, pa.Table]
Decode = Callable[[Sequence[Record]], Tables]


class Worker:
    """One journal's way into the inbox.

    Attributes:
        done: every block up to this sequence lies in the inbox or is loaded.
    """

    def __init__(
        self,
        folder: DataFolder,
        decode: Decode,
        pause: Callable[[float], None],
        clock: Clock,
        *,
        set_aside_first: bool = False,
    ) -> None:
        """`pause` lets that many seconds pass, perhaps none, and may raise to end the work.

        With `set_aside_first` the first block that is not done goes to the quarantine undecoded: decoding it
        brought down the processes before this one.
        """
        self._set_aside_next = set_aside_first
        self._folder = folder
        self._decode = decode
        self._pause = pause
        self._clock = clock
        self._journal = journal_name(folder.journal)
        _clear_drafts(folder, self._journal)
        self._ready = in_inbox(folder, self._journal)  # before what is loaded is read: blocks move that way
        self.done = first_undone(folder, self._journal) - 1

    def run(self, until: int) -> None:
        """Hand on every block up to the durable sequence `until`, and before those that are wanted again."""
        self._answer_again()
        for block in read_blocks(self._folder.journal, self.done, until):
            started_s = self._clock.monotonic_s()
            if block.sequence not in self._ready:
                self._hand_on(block)
            self.done = block.sequence
            took_s = self._clock.monotonic_s() - started_s
            self._pause(took_s if took_s < _SMALL_S else 0)

    def _answer_again(self) -> None:
        """Hand on once more what arrived damaged at the warehouse, as long as the journal has it."""
        wanted = self._folder.wanted_again(self._journal)
        for path in sorted(wanted.iterdir()) if wanted.is_dir() else ():
            if path.name.isdecimal() and int(path.name) <= self.done:
                sequence = int(path.name)
                for block in read_blocks(self._folder.journal, sequence - 1, sequence):
                    _LOG.warning("block %d is decoded again: it arrived damaged", sequence)
                    self._hand_on(block)
            path.unlink(missing_ok=True)

    def _hand_on(self, block: Block) -> None:
        while inbox_is_full(self._folder):
            self._pause(_RETRY_S)
        if not block.records and block.sequence <= read_loaded(self._folder, self._journal):
            return  # loaded, and its segment deleted, since we started
        tables, bad = self._decode_block(block)
        if bad:
            _LOG.warning("%d requests of block %d cannot be decoded", len(bad), block.sequence)
            self._patiently(lambda: put_aside(self._folder, block, bad))
        missing = [undecodable(bad)] if bad else []
        if block.damaged:
            missing.append(lost(self._clock.now_ns(), block.damaged))
        if missing:
            tables["refused"] = _join([tables.get("refused"), *missing])
        self._patiently(lambda: write_block(self._folder, block.journal, block.sequence, tables))

    def _decode_block(self, block: Block) -> tuple[Tables, list[Record]]:
        if not block.records:
            return {}, []
        if self._set_aside_next:
            self._set_aside_next = False
            return {}, list(block.records)
        return decode_what_can(block.records, self._decode)

    def _patiently(self, write: Callable[[], object]) -> None:
        """Write as soon as the disk lets us: a full disk delays a block and never loses one."""
        while True:
            try:
                write()
            except OSError as error:
                _LOG.error("the inbox cannot be written: %s", error.strerror)
                self._pause(_RETRY_S)
            else:
                return


def decode_what_can(records: Sequence[Record], decode: Decode) -> tuple[Tables, list[Record]]:
    """Decode records together; where that fails, halve until only the bad ones are left out.

    Returns:
        the rows of all good records by kind, and the bad records.
    """
    try:
        return {kind: table.cast(SCHEMAS[kind]) for kind, table in decode(records).items()}, []
    except Exception as error:  # noqa: BLE001 - whatever a record does to decode, the others must go through
        if len(records) == 1:
            # Where it failed, but not its text, which may quote what was sent.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _LOG.warning("decode failed with %s in %s:%s", type(error).__name__, place.filename, place.lineno)
            return {}, list(records)
    middle = len(records) // 2
    left, left_bad = decode_what_can(records[:middle], decode)
    right, right_bad = decode_what_can(records[middle:], decode)
    kinds = left.keys() | right.keys()
    return {kind: _join([left.get(kind), right.get(kind)]) for kind in kinds}, left_bad + right_bad


def _clear_drafts(folder: DataFolder, journal: str) -> None:
    """Delete the blocks that a process before us was still writing when it was killed."""
    for draft in folder.staging.glob(f"{journal}-*"):
        shutil.rmtree(draft, ignore_errors=True)


def _join(parts: Sequence[pa.Table | None]) -> pa.Table:
    return pa.concat_tables([part for part in parts if part is not None])


def main(argv: Sequence[str] | None = None) -> int:
    """Run until the parent closes standard input."""
    parser = argparse.ArgumentParser(prog="collector.worker", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--capture-text", action="store_true")
    parser.add_argument("--task-key")
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--set-aside-first", action="store_true")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="collector worker: %(message)s", stream=sys.stderr)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, and the parent ends us
    folder = DataFolder(options.data)
    lock(folder.journal, "worker", wait=True)  # one that outlived its parent may still write a block
    decoding = DecodeOptions(
        content_key=read_or_make(folder.content_key),
        capture_text=options.capture_text,
        task_key=options.task_key,
        sources=with_own(options.sources),
    )
    link = Link.over_standard_streams()
    decode: Decode = functools.partial(decode_block, options=decoding)
    decode_what_can(
        [_FIRST], decode
    )  # the first call loads the dialects, which takes longer than a block may
    worker = Worker(folder, decode, link.pause, SYSTEM_CLOCK, set_aside_first=options.set_aside_first)
    try:
        while True:
            worker.run(link.ask(worker.done))
    except EOFError:
        return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
