"""The inbox gets a block whole, once, and durable; the content key is made once."""

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collector.content_key import read_or_make
from collector.decode import decode_block
from collector.decode.testing import OPTIONS, make_record, make_request, make_span
from collector.inbox import write_block
from taximeter.errors import SettingsError
from taximeter.layout import DataFolder
from warehouse.rows import DECODER_VERSION, SPANS


def _tables() -> dict[str, pa.Table]:
    return decode_block([make_record(make_request(make_span()))], OPTIONS)


def test_a_block_is_named_and_labelled_and_holds_no_empty_file(tmp_path: Path) -> None:
    """Name and metadata say journal and sequence, the metadata the decoder's version too."""
    block = write_block(DataFolder(tmp_path).make(), "edge", 3, _tables())
    assert block.name == "edge-000000000003"
    assert sorted(path.name for path in block.iterdir()) == ["digests", "spans.parquet"]
    schema = pq.read_schema(block / "spans.parquet")
    assert schema.metadata[b"journal"] == b"edge"
    assert schema.metadata[b"sequence"] == b"3"
    assert schema.metadata[b"decoder_version"] == str(DECODER_VERSION).encode()
    assert schema.remove_metadata() == SPANS


def test_writing_a_block_again_changes_nothing(tmp_path: Path) -> None:
    """The same block written twice, or by eight at once, is there once, and no draft is left over."""
    folder = DataFolder(tmp_path).make()
    tables = _tables()
    threads = [threading.Thread(target=write_block, args=(folder, "edge", 0, tables)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in folder.inbox.iterdir()] == ["edge-000000000000"]
    assert list(folder.staging.iterdir()) == []


def test_a_block_without_rows_leaves_no_gap(tmp_path: Path) -> None:
    """Nothing to tell is told as an empty folder, so that the next sequence is no surprise."""
    block = write_block(DataFolder(tmp_path).make(), "edge", 0, decode_block([], OPTIONS))
    assert block.is_dir()
    assert list(block.iterdir()) == []


def test_a_table_of_another_schema_is_not_let_in(tmp_path: Path) -> None:
    """A table that is not its kind's raises, and neither inbox nor staging keeps a trace of it."""
    folder = DataFolder(tmp_path).make()
    with pytest.raises((KeyError, ValueError)):
        write_block(folder, "edge", 0, {"spans": pa.table({"a": [1]})})
    assert list(folder.inbox.iterdir()) == list(folder.staging.iterdir()) == []


def test_the_content_key_is_made_once_and_only_for_this_user(tmp_path: Path) -> None:
    """A second read gives the same 32 bytes, from a file that others cannot read."""
    path = tmp_path / "data" / "content.key"
    key = read_or_make(path)
    assert (len(key), read_or_make(path), path.stat().st_mode & 0o777) == (32, key, 0o600)
    assert [one.name for one in path.parent.iterdir()] == ["content.key"]


def test_a_broken_content_key_is_told_and_not_replaced(tmp_path: Path) -> None:
    """A key file of the wrong size is an error that says what to do: a new key would unmake every hash."""
    path = tmp_path / "content.key"
    path.write_bytes(b"short")
    with pytest.raises(SettingsError, match="restore it"):
        read_or_make(path)
    assert path.read_bytes() == b"short"
