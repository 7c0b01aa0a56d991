"""Files go into the inbox exactly once, in bounded blocks, and what could not be read is told."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from collector.decode import DecodeOptions
from collector.formats.summary import ImportSummary
from collector.importing import import_paths, main
from collector.otlp_json import to_protobuf
from taximeter.clock import ManualClock
from taximeter.layout import DataFolder
from warehouse.rows import parse_block_name

OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
NOON = 1_796_126_400_000_000_000


def _import(data: Path, *paths: Path, zone: str | None = None) -> ImportSummary:
    folder = DataFolder(data).make()
    return import_paths(paths, folder, OPTIONS, ManualClock(NOON), lambda *_: None, zone=zone)


def _inbox(data: Path, kind: str) -> list[dict[str, Any]]:
    found = []
    for block in sorted((data / "inbox").iterdir()):
        file = block / f"{kind}.parquet"
        if file.exists():
            found += pq.read_table(file).to_pylist()
    return found


def _document(spans: int, first: int = 1) -> dict[str, Any]:
    made = [
        {
            "traceId": "0af7651916cd43dd8448eb211c80319c",
            "spanId": f"{number:016x}",
            "name": "chat",
            "startTimeUnixNano": str(NOON + number),
            "endTimeUnixNano": str(NOON + number + 1000),
            "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}}],
        }
        for number in range(first, first + spans)
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_every_recorded_run_goes_in_whole(tmp_path: Path, agent_runs: Path) -> None:
    """The inbox holds as many spans per file as the oracle counts; everything else is skipped, not broken."""
    oracle = {row["file"]: row for row in json.loads((agent_runs / "oracle.json").read_text())}

    summary = _import(tmp_path, agent_runs)

    read = {
        f"otlp-agent-runs/{result.path.relative_to(agent_runs)}": result.rows["spans"]
        for result in summary.files
        if result.outcome == "read"
    }
    assert read == {name: row["spans"] for name, row in oracle.items()}
    assert summary.count("broken") == 0
    assert {reason for result in summary.files for reason in result.reasons} == {"not telemetry"}
    assert len(_inbox(tmp_path, "spans")) == sum(row["spans"] for row in oracle.values())
    assert summary.exit_status == 0


def test_importing_twice_adds_nothing(tmp_path: Path, agent_runs: Path) -> None:
    """The same file makes the same blocks, under whatever name and at whatever time it comes."""
    source = agent_runs / "kagent" / "adk_go_1turn.json"
    copy = _write(tmp_path / "copy.txt", source.read_bytes())
    data = tmp_path / "data"

    _import(data, source)
    once = sorted(path.name for path in (data / "inbox").iterdir())
    _import(data, copy)

    assert sorted(path.name for path in (data / "inbox").iterdir()) == once
    assert len(_inbox(data, "spans")) == 116


def test_long_files_become_many_blocks_with_every_span_once(tmp_path: Path) -> None:
    """A file of many spans is cut into numbered blocks of at most 5,000, none lost and none doubled."""
    file = _write(tmp_path / "long.json", json.dumps(_document(12_001)))

    summary = _import(tmp_path / "data", file)

    blocks = [parse_block_name(path.name) for path in sorted((tmp_path / "data" / "inbox").iterdir())]
    assert [sequence for _, sequence in blocks] == [0, 1, 2]
    assert len({journal for journal, _ in blocks}) == 1
    ids = [row["span_id"] for row in _inbox(tmp_path / "data", "spans")]
    assert len(ids) == len(set(ids)) == summary.rows["spans"] == 12_001


def test_many_small_lines_share_a_block(tmp_path: Path) -> None:
    """JSON lines of one span each do not make a block each."""
    lines = "\n".join(json.dumps(_document(1, first=number)) for number in range(1, 41))

    _import(tmp_path / "data", _write(tmp_path / "lines.jsonl", lines))

    assert len(list((tmp_path / "data" / "inbox").iterdir())) == 1
    assert len(_inbox(tmp_path / "data", "spans")) == 40


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_files_are_read_as_what_they_hold(tmp_path: Path, pack: Any) -> None:
    """Compression by gzip or zstd is taken off, told by content."""
    file = _write(tmp_path / "export.bin", pack(json.dumps(_document(3)).encode()))

    summary = _import(tmp_path / "data", file)

    assert (summary.rows["spans"], summary.exit_status) == (3, 0)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_protobuf_and_tables_are_recognised_too(tmp_path: Path, pack: Any) -> None:
    """Recognition needs no seeking: compressed OTLP protobuf and CSV are read like plain ones."""
    payload = to_protobuf("traces", json.dumps(_document(3)).encode())
    table = b"time,gpu,util_percent\n1796126400,0,50\n"

    summary = _import(
        tmp_path / "data",
        _write(tmp_path / "a.pb.x", pack(payload)),
        _write(tmp_path / "b.csv.x", pack(table)),
    )

    assert (summary.rows["spans"], summary.rows["samples"], summary.exit_status) == (3, 1, 0)


def test_a_broken_file_says_why_and_keeps_what_was_whole(tmp_path: Path) -> None:
    """Of a cut export the whole elements go in; the file is broken, with the reason, and refused says so."""
    document = _document(2)
    document["resourceSpans"] += _document(2, first=10)["resourceSpans"]
    text = json.dumps(document, indent=1)
    file = _write(tmp_path / "cut.json", text[: len(text) - 40])

    summary = _import(tmp_path / "data", file)

    result = summary.files[0]
    assert (result.outcome, result.rows["spans"], summary.exit_status) == ("broken", 2, 1)
    assert "the file is cut" in result.reasons[0]
    refused = _inbox(tmp_path / "data", "refused")
    assert [(row["source"], row["reason"], row["received_ns"]) for row in refused] == [
        ("cut.json", "undecodable", NOON)
    ]


def test_an_export_cut_in_its_first_element_is_broken_not_unknown(tmp_path: Path) -> None:
    """What begins as telemetry and breaks off at once is told as broken."""
    summary = _import(tmp_path / "data", _write(tmp_path / "cut.json", json.dumps(_document(2))[:200]))

    assert [result.outcome for result in summary.files] == ["broken"]


def test_a_bad_line_breaks_the_file_but_not_its_neighbours(tmp_path: Path) -> None:
    """All good lines go in, the bad one is named by its number."""
    lines = [json.dumps(_document(1)), '{"resourceSpans": [', json.dumps(_document(1, first=2))]

    summary = _import(tmp_path / "data", _write(tmp_path / "lines.jsonl", "\n".join(lines)))

    result = summary.files[0]
    assert (result.outcome, result.rows["spans"]) == ("broken", 2)
    assert result.reasons[0].startswith("line 2: not JSON")


def test_damaged_compression_is_broken_not_a_crash(tmp_path: Path) -> None:
    """A gzip file that was cut gives a reason."""
    data = gzip.compress(json.dumps(_document(2_000)).encode())
    summary = _import(tmp_path / "data", _write(tmp_path / "cut.json.gz", data[: len(data) // 2]))

    assert [result.outcome for result in summary.files] == ["broken"]


def test_unknown_and_missing_files_are_told_apart(tmp_path: Path) -> None:
    """A note is skipped, a path that leads nowhere is broken, and neither counts as something read."""
    note = _write(tmp_path / "note.md", "# gpu, time and other words")

    summary = _import(tmp_path / "data", note, tmp_path / "nowhere.json")

    assert [(result.outcome, result.reasons) for result in summary.files] == [
        ("skipped", ["not telemetry"]),
        ("broken", ["there is no such file"]),
    ]
    assert summary.exit_status == 1


def test_sample_tables_go_in_beside_what_they_refused(tmp_path: Path) -> None:
    """GPU samples of a file enter as samples; a bad cell is a refusal, which breaks nothing."""
    file = _write(
        tmp_path / "gpu.csv",
        "time,gpu,util_percent\n1796126400,0,50\n1796126401,0,-3\n2026-12-01 13:00:02,0,1\n",
    )

    summary = _import(tmp_path / "data", file, zone="Europe/Berlin")

    assert summary.exit_status == 0
    assert [row["t_ns"] - NOON for row in _inbox(tmp_path / "data", "samples")] == [0, 2_000_000_000]
    assert summary.refused == Counter({"negative": 1})


def test_the_command_prints_what_was_read_and_why_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table goes to standard output, progress to standard error, and the exit status follows."""
    good = _write(tmp_path / "good.json", json.dumps(_document(3)))
    cut = _write(tmp_path / "cut.json", json.dumps(_document(3))[:-30])

    status = main([str(good), str(cut), "--data", str(tmp_path / "data")])

    out, err = capsys.readouterr()
    assert status == 1
    assert "files: 1 read, 0 skipped, 1 broken; rows: 3 spans" in out
    assert "broken" in out
    assert "the file is cut" in out
    assert "3 rows in 1 blocks" in err
    assert main([str(good), "--data", str(tmp_path / "data")]) == 0


def test_a_zone_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped zone stops the command before anything is read."""
    with pytest.raises(SystemExit):
        main(["x.csv", "--zone", "Mars/Base", "--data", str(tmp_path)])

    assert "there is no zone 'Mars/Base'" in capsys.readouterr().err
