"""Loading: each block exactly once, whatever happens."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from taximeter.settings import Settings
from taximeter.settings import Warehouse as WarehouseSettings
from warehouse import load as loading
from warehouse.load import Summary
from warehouse.rows import SCHEMAS
from warehouse.testing import Store, store, write_block

SAMPLE_NS = 1_700_000_000_000_000_000
QUARTER_NS = 900_000_000_000


@pytest.fixture(name="warehouse")
def _warehouse(tmp_path: Path) -> Iterator[Store]:
    with store(tmp_path) as opened:
        yield opened


def spans(*trace_ids: str | None) -> dict[str, pa.Table]:
    return {"spans": pa.table({"trace_id": pa.array(trace_ids, pa.string())})}


def loaded(warehouse: Store) -> list[str]:
    return [trace_id for (trace_id,) in warehouse.sql("select trace_id from spans order by all")]


def test_a_block_is_loaded_and_leaves_the_inbox(warehouse: Store) -> None:
    """Rows are in their table, the folder is gone, and the journal's owner is told up to where."""
    assert warehouse.load(spans("a", "b")) == Summary(loaded=1, rows=2)
    assert loaded(warehouse) == ["a", "b"]
    assert list(warehouse.folder.inbox.iterdir()) == []
    assert (warehouse.folder.loaded / "test").read_text() == "0\n"


def test_a_block_found_again_is_dropped(warehouse: Store) -> None:
    """The same block twice counts once, at once or after its journal moved on."""
    for _ in range(2):
        write_block(warehouse.folder, "j", 0, spans("a"))
        warehouse.load_inbox()
    write_block(warehouse.folder, "j", 1, spans("b"))
    write_block(warehouse.folder, "j", 0, spans("a"))

    assert warehouse.load_inbox() == Summary(loaded=1, dropped=1, rows=1)
    assert loaded(warehouse) == ["a", "b"]
    assert list(warehouse.folder.inbox.iterdir()) == []


def test_a_newer_decode_replaces_its_block_and_an_older_one_does_not(warehouse: Store) -> None:
    """Of several decodes of one block the newest one's rows count, in any order of arrival."""
    write_block(warehouse.folder, "j", 0, spans("old", "both"), decoder_version=2)
    write_block(warehouse.folder, "j", 1, spans("next"), decoder_version=2)
    warehouse.load_inbox()
    write_block(warehouse.folder, "j", 0, spans("new", "both"), decoder_version=3)

    assert warehouse.load_inbox() == Summary(replaced=1, rows=2)
    write_block(warehouse.folder, "j", 0, spans("older"), decoder_version=1)
    assert warehouse.load_inbox() == Summary(dropped=1)
    assert loaded(warehouse) == ["both", "new", "next"]


def test_a_block_without_rows_may_be_replaced(warehouse: Store) -> None:
    """A block in which a decoder found nothing is loaded, and a newer decoder may find something in it."""
    write_block(warehouse.folder, "j", 0, {}, decoder_version=1)
    assert warehouse.load_inbox() == Summary(loaded=1)
    write_block(warehouse.folder, "j", 0, spans("found"), decoder_version=2)
    warehouse.load_inbox()

    assert loaded(warehouse) == ["found"]


def test_a_watermark_waits_for_the_gap(warehouse: Store) -> None:
    """A journal's owner is told only the block below which nothing is missing."""
    for sequence in (0, 1, 3, 4):
        write_block(warehouse.folder, "j", sequence, spans(str(sequence)))
    warehouse.load_inbox()
    assert (warehouse.folder.loaded / "j").read_text() == "1\n"
    assert warehouse.sql("select sequence from blocks order by all") == [(3,), (4,)]

    write_block(warehouse.folder, "j", 2, spans("2"))
    warehouse.load_inbox()
    assert (warehouse.folder.loaded / "j").read_text() == "4\n"
    assert warehouse.sql("select * from blocks") == []


@examples(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations([(journal, sequence) for journal in "ab" for sequence in range(4)] * 2), st.data())
def test_any_order_of_arrival_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, arrivals: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Blocks of several journals, each sent twice in any order and in any grouping, count once each."""
    with store(tmp_path_factory.mktemp("data")) as warehouse:
        while arrivals:
            size = data.draw(st.integers(1, 6))
            batch, arrivals = dict.fromkeys(arrivals[:size]), arrivals[size:]
            for journal, sequence in batch:
                write_block(warehouse.folder, journal, sequence, spans(f"{journal}{sequence}"))
            warehouse.load_inbox()

        assert loaded(warehouse) == [f"{journal}{sequence}" for journal in "ab" for sequence in range(4)]
        assert warehouse.sql("from watermarks order by all") == [("a", 3), ("b", 3)]
        assert warehouse.sql("from blocks") == []


def test_a_crash_after_the_commit_counts_nothing_twice(
    warehouse: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between its commit and the removal of the folder loads nothing twice later."""
    write_block(warehouse.folder, "j", 0, spans("a"))
    with monkeypatch.context() as patch:
        patch.setattr(loading.shutil, "rmtree", _die)
        with pytest.raises(KeyboardInterrupt):
            warehouse.load_inbox()
    warehouse.load_inbox()

    assert loaded(warehouse) == ["a"]
    assert list(warehouse.folder.inbox.iterdir()) == []


def test_a_crash_before_the_commit_loses_nothing(warehouse: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies before its commit leaves the block in the inbox and no row behind."""
    write_block(warehouse.folder, "j", 0, spans("a"))
    with monkeypatch.context() as patch:
        patch.setattr(loading, "_mark", _die)
        with pytest.raises(KeyboardInterrupt):
            warehouse.load_inbox()
    assert (loaded(warehouse), warehouse.sql("from dirty_traces")) == ([], [])

    warehouse.load_inbox()
    assert loaded(warehouse) == ["a"]


@pytest.mark.parametrize("content", [b"", b"garbage", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_block_that_cannot_be_read_stops_nothing(warehouse: Store, content: bytes) -> None:
    """A broken block goes to quarantine, is counted once as refused, and the next block is loaded."""
    broken = write_block(warehouse.folder, "j", 0, spans("lost"))
    (broken / "spans.parquet").write_bytes(content)
    write_block(warehouse.folder, "j", 1, spans("next"))

    assert warehouse.load_inbox() == Summary(loaded=1, quarantined=1, rows=2)
    assert loaded(warehouse) == ["next"]
    assert warehouse.sql("select reason, source from refused") == [("undecodable", "j-000000000000")]
    assert [path.name for path in warehouse.folder.quarantine.iterdir()] == ["j-000000000000"]
    assert (warehouse.folder.loaded / "j").read_text() == "1\n"


def test_a_broken_block_is_refused_once_and_may_come_whole_later(warehouse: Store) -> None:
    """The same broken block again leaves no second row; a whole decode of it replaces the refusal."""
    for _ in range(2):
        broken = write_block(warehouse.folder, "j", 0, spans("lost"))
        (broken / "spans.parquet").write_bytes(b"garbage")
        warehouse.load_inbox()
    assert warehouse.sql("select count(*) from refused") == [(1,)]

    write_block(warehouse.folder, "j", 0, spans("whole"))
    warehouse.load_inbox()
    assert (loaded(warehouse), warehouse.sql("from refused")) == (["whole"], [])


def test_a_truncated_file_takes_no_other_kind_of_its_block_along(warehouse: Store) -> None:
    """A block is taken whole or not at all: rows of its good files do not count when one file is broken."""
    block = write_block(
        warehouse.folder, "j", 0, {**spans("half"), "samples": pa.table({"t_ns": [1], "value": [1.0]})}
    )
    whole = (block / "samples.parquet").read_bytes()
    (block / "samples.parquet").write_bytes(whole[: len(whole) // 2])
    warehouse.load_inbox()

    assert loaded(warehouse) == []


@pytest.mark.parametrize("name", ["nonsense", "j-12", "j k-000000000001", "~-000000000000", "-000000000000"])
def test_what_is_no_block_is_set_aside(warehouse: Store, name: str) -> None:
    """A folder or file with another name is moved to quarantine and counted."""
    (warehouse.folder.inbox / name).write_text("what is this")
    write_block(warehouse.folder, "j", 0, spans("a"))
    warehouse.load_inbox()

    assert loaded(warehouse) == ["a"]
    assert warehouse.sql("select reason, source from refused") == [("undecodable", name)]
    assert [path.name for path in warehouse.folder.quarantine.iterdir()] == [name]


def test_columns_come_and_go(warehouse: Store) -> None:
    """A column that nobody knows is left out, one that is missing is null, whole numbers are widened."""
    table = pa.table({"from_the_future": ["x"], "trace_id": ["a"], "start_ns": pa.array([5], pa.int32())})
    warehouse.load({"spans": table})

    assert warehouse.sql("select trace_id, start_ns, end_ns from spans") == [("a", 5, None)]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"trace_id": ["a"], "start_ns": ["soon"]}),
        pa.table({"trace_id": ["a"], "start_ns": [0.5]}),
        pa.table({"trace_id": pa.array([b"\xff\xfe"]).view(pa.binary()).cast(pa.binary())}),
    ],
    ids=["text for a number", "half a nanosecond", "bytes that are no text"],
)
def test_a_value_of_the_wrong_type_refuses_its_block(warehouse: Store, table: pa.Table) -> None:
    """A value that cannot be what its column holds is never bent into it."""
    warehouse.load({"spans": table})

    assert loaded(warehouse) == []
    assert warehouse.sql("select reason from refused") == [("undecodable",)]


def test_text_that_is_no_utf8_refuses_its_block(warehouse: Store) -> None:
    """A text column with broken UTF-8 never reaches the database."""
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    warehouse.load({"spans": pa.table({"trace_id": bad})})

    assert warehouse.sql("select reason from refused") == [("undecodable",)]


def test_a_file_that_names_no_decoder_is_refused(warehouse: Store) -> None:
    """Without the decoder's version nobody could tell which of two decodes is newer."""
    block = write_block(warehouse.folder, "j", 0, spans("a"))
    pq.write_table(pa.table({"trace_id": ["a"]}), block / "spans.parquet")
    warehouse.load_inbox()

    assert loaded(warehouse) == []


def test_changed_rows_leave_marks_for_the_refresh(warehouse: Store) -> None:
    """Traces of new spans and quarter-hours of new samples are marked with the rows themselves."""
    warehouse.load({**spans("a", "a", "b", None), "samples": pa.table({"t_ns": [SAMPLE_NS], "value": [0.5]})})

    start = SAMPLE_NS // QUARTER_NS * QUARTER_NS
    assert warehouse.sql("from dirty_traces order by all") == [("a",), ("b",)]
    assert warehouse.sql("from dirty_times") == [(start, start + QUARTER_NS)]


def test_replaced_rows_leave_marks_too(warehouse: Store) -> None:
    """When a newer decode takes rows away, the traces and times they were in are computed again."""
    old = {**spans("gone"), "samples": pa.table({"t_ns": [SAMPLE_NS], "value": [0.5]})}
    write_block(warehouse.folder, "j", 0, old, decoder_version=1)
    warehouse.load_inbox()
    warehouse.refresh(SAMPLE_NS)
    write_block(warehouse.folder, "j", 0, spans("came"), decoder_version=2)
    warehouse.load_inbox()

    start = SAMPLE_NS // QUARTER_NS * QUARTER_NS
    assert warehouse.sql("from dirty_traces order by all") == [("came",), ("gone",)]
    assert warehouse.sql("from dirty_times") == [(start, start + QUARTER_NS)]


@pytest.mark.parametrize("t_ns", [-(1 << 63), -1, 0, (1 << 63) - 1])
def test_an_instant_at_the_edge_of_time_stops_nothing(warehouse: Store, t_ns: int) -> None:
    """A sample with an instant that cannot be true is kept as it came and stops no load."""
    warehouse.load({"samples": pa.table({"t_ns": [t_ns], "value": [0.5]})})

    assert warehouse.sql("select t_ns from samples") == [(t_ns,)]


def test_a_long_queue_is_loaded_in_bounded_steps(warehouse: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One transaction takes at most so many blocks, in their order; the rest stays for the next."""
    monkeypatch.setattr(loading, "MAX_BLOCKS", 3)
    for sequence in range(5):
        write_block(warehouse.folder, "j", sequence, spans(str(sequence)))

    assert loading.load(warehouse.connection, warehouse.folder, 0).loaded == 3
    assert loaded(warehouse) == ["0", "1", "2"]
    assert loading.load(warehouse.connection, warehouse.folder, 0).loaded == 2


def test_lost_marks_are_told_again(warehouse: Store) -> None:
    """After a restart every journal's owner is told its watermark, even if the files were lost."""
    warehouse.load(spans("a"))
    (warehouse.folder.loaded / "test").unlink()
    with warehouse.connection.cursor() as cursor:
        loading.write_loaded(cursor, warehouse.folder)

    assert (warehouse.folder.loaded / "test").read_text() == "0\n"


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_the_database_itself_is_what_survives(tmp_path: Path) -> None:
    """Closing and opening again keeps rows and marks: a block loaded before is dropped after."""
    with store(tmp_path) as warehouse:
        write_block(warehouse.folder, "j", 0, spans("a"))
        warehouse.load_inbox()
    with store(tmp_path) as warehouse:
        write_block(warehouse.folder, "j", 0, spans("a"))
        assert warehouse.load_inbox() == Summary(dropped=1)
        assert loaded(warehouse) == ["a"]
        with pytest.raises(duckdb.Error):
            warehouse.sql("select nonsense")


def test_many_small_blocks_fit_into_little_memory(tmp_path: Path) -> None:
    """A long queue of small blocks is loaded within the memory limit: buffers are per load, not per block."""
    settings = Settings(warehouse=WarehouseSettings(memory_limit="256MB"))
    row = pa.Table.from_pylist([{"trace_id": "a", "name": "run"}], schema=SCHEMAS["spans"])
    with store(tmp_path, settings) as warehouse:
        for sequence in range(150):
            write_block(warehouse.folder, "j", sequence, {"spans": row})

        assert warehouse.load_inbox().loaded == 150
