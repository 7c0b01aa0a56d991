import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector import worker as worker_module
from collector.decode import DecodeOptions, decode_block
from collector.inbox import write_block
from collector.journal import progress
from collector.journal.record import Record
from collector.journal.segments import segments
from collector.journal.writer import JournalWriter
from collector.worker import Worker
from taximeter.clock import ManualClock
from taximeter.layout import DataFolder
from warehouse.rows import SCHEMAS, block_name

OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
POISON = b"poison"


def span_request(number: int) -> bytes:
    made = ExportTraceServiceRequest()
    made.resource_spans.add().scope_spans.add().spans.add(
        name="chat",
        trace_id=number.to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        start_time_unix_nano=10,
        end_time_unix_nano=20,
    )
    return made.SerializeToString()


def record(payload: bytes) -> Record:
    return Record("traces", "acme", 7, "10.0.0.9", payload)


def decode(records: Sequence[Record]) -> dict[str, pa.Table]:
    """The real decoder, but for one payload that brings it down as a fault in it would."""
    if any(one.payload == POISON for one in records):
        message = "the decoder met what it cannot read"
        raise RuntimeError(message)
    return decode_block(records, OPTIONS)


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data").make()


def fill(folder: DataFolder, *blocks: Sequence[bytes]) -> str:
    writer = JournalWriter(folder, segment_bytes=200)
    for payloads in blocks:
        writer.commit([record(payload) for payload in payloads])
        writer.seal()
    writer.close()
    return writer.name


def make(folder: DataFolder, pause: Callable[[float], None] = lambda _: None) -> Worker:
    return Worker(folder, decode, pause, ManualClock(99))


def rows(folder: DataFolder, kind: str) -> list[dict[str, object]]:
    files = sorted(folder.inbox.glob(f"*/{kind}.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def span_numbers(folder: DataFolder) -> list[int]:
    return [int(str(row["span_id"]), 16) for row in rows(folder, "spans")]


def test_every_block_becomes_one_block_of_the_inbox(folder: DataFolder) -> None:
    """Blocks go through in order and keep their number; nothing is merged, split or left out."""
    name = fill(folder, [span_request(1)], [span_request(2), span_request(3)], [span_request(4)])
    worker = make(folder)
    worker.run(until=2)
    assert worker.done == 2
    assert sorted(path.name for path in folder.inbox.iterdir()) == [block_name(name, n) for n in range(3)]
    assert span_numbers(folder) == [1, 2, 3, 4]


def test_nothing_is_read_beyond_what_is_sealed(folder: DataFolder) -> None:
    """A block that the parent has not told of is left alone."""
    fill(folder, [span_request(1)], [span_request(2)])
    make(folder).run(until=0)
    assert span_numbers(folder) == [1]


def test_progress_is_what_lies_in_the_inbox_or_is_loaded(folder: DataFolder) -> None:
    """A fresh worker does exactly the blocks that are neither loaded nor in the inbox, even one in a gap."""
    name = fill(folder, *([span_request(number)] for number in range(5)))
    (folder.loaded / name).write_text("1", encoding="ascii")
    write_block(folder, name, 3, {})
    worker = make(folder)
    assert worker.done == 1
    worker.run(until=4)
    assert span_numbers(folder) == [2, 4]


def test_without_any_word_of_what_is_loaded_the_oldest_segment_counts(folder: DataFolder) -> None:
    """Deleted segments were loaded: when the loaded file is lost, their blocks are not called missing."""
    fill(folder, *([span_request(number)] for number in range(4)))
    segments(folder.journal)[0].path.unlink()
    worker = make(folder)
    worker.run(until=3)
    assert rows(folder, "refused") == []
    assert span_numbers(folder) == list(range(segments(folder.journal)[0].first, 4))


@pytest.mark.parametrize("position", range(5))
def test_a_bad_record_is_set_aside_and_the_others_go_through(folder: DataFolder, position: int) -> None:
    """Of a block with one record that cannot be decoded, the bytes are kept and all other rows arrive."""
    payloads = [span_request(number) for number in range(1, 5)]
    payloads.insert(position, POISON)
    name = fill(folder, payloads)
    make(folder).run(until=0)
    assert span_numbers(folder) == [1, 2, 3, 4]
    (refused,) = rows(folder, "refused")
    assert {key: value for key, value in refused.items() if value is not None} == {
        "received_ns": 7,
        "tenant": "acme",
        "signal": "traces",
        "source": "10.0.0.9",
        "value": str(len(POISON)),
        "reason": "undecodable",
    }
    (kept,) = folder.quarantine.iterdir()
    assert (kept.name, kept.read_bytes()) == (f"{block_name(name, 0)}-{position}.traces.pb", POISON)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_decoder_with_the_wrong_columns_is_a_decoder_that_failed(folder: DataFolder) -> None:
    """Rows that do not fit the warehouse's schema never reach the inbox, and do not stop the worker."""
    fill(folder, [span_request(1)])
    wrong = {"spans": pa.table({"trace_id": ["1"]})}
    Worker(folder, lambda _: wrong, lambda _: None, ManualClock(99)).run(until=0)
    assert (rows(folder, "spans"), len(rows(folder, "refused"))) == ([], 1)


def test_a_lost_block_is_told_and_does_not_stop_the_others(folder: DataFolder) -> None:
    """A block whose bytes rotted leaves a refused row, so that the sum of what is missing can be shown."""
    fill(folder, [span_request(1)], [span_request(2)], [span_request(3)])
    path = segments(folder.journal)[0].path
    path.write_bytes(path.read_bytes().replace(span_request(2), bytes(len(span_request(2)))))
    make(folder).run(until=2)
    assert span_numbers(folder) == [1, 3]
    (refused,) = rows(folder, "refused")
    assert (refused["reason"], refused["source"], refused["received_ns"]) == ("undecodable", "journal", 99)


def test_a_block_that_was_loaded_meanwhile_is_not_called_lost(folder: DataFolder) -> None:
    """When a segment goes because its blocks were loaded after the worker started, nothing is missing."""
    name = fill(folder, [span_request(1)], [span_request(2)])
    worker = make(folder)
    (folder.loaded / name).write_text("1", encoding="ascii")
    for segment in segments(folder.journal)[:-1]:
        segment.path.unlink()
    segments(folder.journal)[-1].path.write_bytes(b"")
    worker.run(until=1)
    assert list(folder.inbox.iterdir()) == []


def test_a_full_inbox_makes_the_worker_wait(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many blocks in the inbox the worker waits until the warehouse has taken some."""
    monkeypatch.setattr(progress, "INBOX_MAX_BLOCKS", 1)
    fill(folder, [span_request(1)])
    for number in range(2):
        (folder.inbox / block_name("other", number)).mkdir()
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            (folder.inbox / block_name("other", 0)).rmdir()

    make(folder, pause).run(until=0)
    assert waits[:3] == [worker_module._RETRY_S] * 3
    assert span_numbers(folder) == [1]


def test_the_bytes_in_the_inbox_are_bounded_too(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few huge blocks fill the inbox just as many small ones do."""
    write_block(
        folder, "other", 0, {"refused": pa.Table.from_pylist([{"reason": "x"}], schema=SCHEMAS["refused"])}
    )
    assert not progress.inbox_is_full(folder)
    monkeypatch.setattr(progress, "INBOX_MAX_BYTES", 100)
    assert progress.inbox_is_full(folder)


def test_a_full_disk_delays_a_block_and_never_loses_it(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the inbox cannot be written the worker tries again, and sets nothing aside."""
    fill(folder, [span_request(1)])
    failures = iter([OSError(28, "no space left"), OSError(28, "no space left")])

    def write(*arguments: object) -> object:
        for failure in failures:
            raise failure
        return write_block(*arguments)

    monkeypatch.setattr(worker_module, "write_block", write)
    make(folder).run(until=0)
    assert span_numbers(folder) == [1]
    assert list(folder.quarantine.iterdir()) == []


def test_drafts_of_a_killed_worker_are_cleared(folder: DataFolder) -> None:
    """What a killed worker was writing goes away when the next one starts; other people's drafts stay."""
    name = fill(folder, [span_request(1)])
    mine, theirs = (
        folder.staging / f"{block_name(name, 0)}.abcd",
        folder.staging / "import0-000000000000.abcd",
    )
    for draft in (mine, theirs):
        draft.mkdir()
    make(folder)
    assert list(folder.staging.iterdir()) == [theirs]


def test_a_block_that_crashed_the_process_is_set_aside_whole(folder: DataFolder) -> None:
    """Told that the first open block crashes decode, the worker quarantines just that block, undecoded."""
    name = fill(folder, [span_request(1)], [span_request(2), span_request(3)], [span_request(4)])
    write_block(folder, name, 0, {})
    worker = Worker(folder, decode, lambda _: None, ManualClock(99), set_aside_first=True)
    worker.run(until=2)
    assert span_numbers(folder) == [4]
    assert [row["reason"] for row in rows(folder, "refused")] == ["undecodable"] * 2
    kept = sorted(path.read_bytes() for path in folder.quarantine.iterdir())
    assert kept == [span_request(2), span_request(3)]
