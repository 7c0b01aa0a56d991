"""Request logs by a map: what a column means is said, and what no column tells is unknown."""

import io
from pathlib import Path
from typing import Any

import pytest

from collector.decode import decode_block
from collector.decode.testing import OPTIONS, make_record
from collector.formats.by_map import reader_by_map
from collector.formats.parts import Bad, Part
from collector.formats.request_log import read_requests
from collector.formats.request_map import MAPS, find_map, read_map
from taximeter.errors import BadInputError

COLUMNS = "columns: {time: at, input_tokens: in, output_tokens: out, duration_s: took, status: how, model: m}"


def read(tmp_path: Path, said: str, text: str) -> tuple[list[dict[str, Any]], list[Bad]]:
    file = tmp_path / "map.yaml"
    file.write_text(said, encoding="utf-8")
    found = list(read_requests(io.BytesIO(text.encode()), read_map(file), "log"))
    records = [make_record(part.payload) for part in found if isinstance(part, Part)]
    rows = decode_block(records, OPTIONS)["spans"].to_pylist() if records else []
    return rows, [one for one in found if isinstance(one, Bad)]


def test_a_row_is_a_call_with_what_its_columns_say(tmp_path: Path) -> None:
    """Times to 100 ns, tokens, seconds, model and outcome; every row is a task of its own."""
    text = (
        "at,in,out,took,how,m\n2026-01-01 00:00:00.1234567,10,2,1.5,ok,x\n2026-01-01T00:00:01Z,20,,,bad,x\n"
    )
    (first, second), bad = read(tmp_path, f"{COLUMNS}\nsucceeded: [ok]", text)

    assert bad == []
    assert first["start_ns"] % 1_000_000_000 == 123_456_700
    assert (first["input_tokens"], first["output_tokens"], first["model_response"]) == (10, 2, "x")
    assert (first["end_ns"] - first["start_ns"], first["status"]) == (1_500_000_000, "unset")
    assert (second["output_tokens"], second["status"]) == (None, "error")
    assert second["flags"] == ["untimed"]
    assert first["trace_id"] != second["trace_id"]


def test_equal_rows_are_calls_of_their_own_and_a_file_read_twice_is_not(tmp_path: Path) -> None:
    """Two requests of one instant and size are two; the same file gives the same ids."""
    text = "at,in,out,took,how,m\n" + "2026-01-01 00:00:00,10,2,1,ok,x\n" * 2
    once, _ = read(tmp_path, COLUMNS, text)
    again, _ = read(tmp_path, COLUMNS, text)

    assert len({row["trace_id"] for row in once}) == 2
    assert [row["span_id"] for row in once] == [row["span_id"] for row in again]


def test_counted_times_start_at_the_zero_of_the_map(tmp_path: Path) -> None:
    """Milliseconds from an instant that the map names, in JSON lines."""
    said = "time: ms\nzero: 2026-01-01T00:00:00Z\ncolumns: {time: t, input_tokens: n}"
    rows, _ = read(tmp_path, said, '{"t": 1.5, "n": 7}\n{"t": 2000, "n": 8}\n')

    assert [row["start_ns"] - 1_767_225_600_000_000_000 for row in rows] == [1_500_000, 2_000_000_000]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("soon,1,1,1,ok,x", "no time"),
        ("2026-01-01 00:00:00,1,1,-1,ok,x", "negative"),
        ("2026-01-01 00:00:00,1,1,long,ok,x", "no number"),
        ("2026-01-01 00:00:00,1", "2 cells"),
    ],
)
def test_a_row_that_cannot_be_is_told_and_the_next_is_read(tmp_path: Path, line: str, reason: str) -> None:
    """A bad line costs itself alone, and says where it stands."""
    rows, (bad,) = read(tmp_path, COLUMNS, f"at,in,out,took,how,m\n{line}\n2026-01-01 00:00:00,3,1,1,ok,x\n")

    assert [row["input_tokens"] for row in rows] == [3]
    assert (bad.where, reason in bad.reason) == ("line 2", True)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("columns: [a]", "columns"),
        ("columns: {input_tokens: n}", "no column for time"),
        ("columns: {time: t, colour: c}", "unknown columns: colour"),
        ("time: days\ncolumns: {time: t}", "unknown time: days"),
        ("kind: dreams\ncolumns: {time: t}", "unknown kind: dreams"),
        ("zero: soon\ncolumns: {time: t}", "zero is an instant"),
        ("kind: rates\ncolumns: {time: t}", "no column for rate_per_s"),
    ],
)
def test_a_map_that_cannot_be_is_told(tmp_path: Path, said: str, told: str) -> None:
    """Whoever writes a map learns which key is wrong."""
    with pytest.raises(BadInputError, match=told):
        read(tmp_path, said, "")


def test_a_missing_column_is_told_with_those_that_are_there(tmp_path: Path) -> None:
    """The wrong map for a file reads nothing."""
    with pytest.raises(BadInputError, match="no column 'took'; there are at, in"):
        read(tmp_path, COLUMNS, "at,in,out\n")


def test_shipped_maps_can_be_read_and_named() -> None:
    """Every map that we ship is one, and a name that is none lists them."""
    assert [read_map(find_map(file.stem)).kind for file in sorted(MAPS.glob("*.yaml"))]
    with pytest.raises(BadInputError, match="azure-llm-inference, gentd26-requests, mooncake, servegen"):
        find_map("nothing")
    with pytest.raises(BadInputError, match="go together"):
        reader_by_map("requests", None, None)
