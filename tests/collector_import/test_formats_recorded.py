"""The recorded agent runs are recognised by content, and every span and log record is read."""

import json
from collections import Counter
from pathlib import Path

from collector.formats.detect import detect
from collector.formats.parts import Part
from collector.formats.source import open_plain


def _counts(path: Path) -> tuple[str, Counter[str]]:
    reading = detect(path, None, path.name)
    assert reading is not None, path
    counts: Counter[str] = Counter()
    with open_plain(path) as file:
        for item in reading.read(file):
            assert isinstance(item, Part), (path, item)
            counts[item.signal] += item.items
    return reading.format, counts


def test_every_recorded_run_has_the_spans_and_logs_of_the_oracle(agent_runs: Path) -> None:
    """All 38 documents are read in full: spans and log records equal the oracle's count."""
    oracle = json.loads((agent_runs / "oracle.json").read_text())

    found = {row["file"]: _counts(agent_runs.parent / row["file"])[1] for row in oracle}

    assert {name: counts["traces"] for name, counts in found.items()} == {
        row["file"]: row["spans"] for row in oracle
    }
    assert {name: counts["logs"] for name, counts in found.items()} == {
        row["file"]: row.get("log_records", 0) for row in oracle
    }
    assert len(found) == 38


def test_wire_formats_are_told_apart(agent_runs: Path) -> None:
    """Jaeger, Tempo and OTLP exports lie side by side under one ending and are told by their content."""
    formats = Counter(
        _counts(path)[0] for path in agent_runs.rglob("*.json") if detect(path, None, path.name) is not None
    )

    assert formats == {"otlp-json": 35, "jaeger-json": 2, "tempo-json": 1}


def test_what_only_speaks_of_telemetry_is_not_telemetry(agent_runs: Path) -> None:
    """Truth files, the oracle, licences and notes are recognised as something else."""
    others = [
        *agent_runs.rglob("*.truth.json"),
        agent_runs / "oracle.json",
        *agent_runs.glob("*.md"),
        *agent_runs.glob("*.txt"),
    ]

    assert len(others) == 43
    assert [path for path in others if detect(path, None, path.name)] == []
