"""Real recordings that nobody here made: all of them are read, and their numbers come out right."""

import json
from pathlib import Path
from typing import Any

import pytest

from taximeter.testing import Programs, programs

RECORDINGS = Path(__file__).parents[3] / "shared" / "data" / "otlp-agent-runs"
COUNTED = ("input_tokens", "output_tokens", "tool_calls")


def oracle() -> list[dict[str, Any]]:
    file = RECORDINGS / "oracle.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []


def name(entry: dict[str, Any]) -> str:
    return str(entry["file"]).removeprefix("otlp-agent-runs/")


def figures(running: Programs, file: Path) -> dict[str, int | None]:
    """Import one document into an empty folder and add up what `report tasks` says."""
    said = running.command("import", str(file))
    assert said.returncode == 0, said.stderr
    tasks = json.loads(running.command("report", "tasks", "--format", "json").stdout)
    totals: dict[str, int | None] = {key: sum(task[key] or 0 for task in tasks) for key in COUNTED}
    totals["llm_calls"] = sum(task["llm_calls"] for task in tasks)
    health = json.loads(running.command("report", "health", "--format", "json").stdout)
    totals["broken_laws"] = sum(row["status"] == "fail" for row in health)
    return totals


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not beside this checkout")
@pytest.mark.parametrize("entry", [e for e in oracle() if not name(e).startswith("adk_py/")], ids=name)
def test_a_real_recording_gives_the_oracles_figures(tmp_path: Path, entry: dict[str, Any]) -> None:
    """Tokens, tool calls and, where known, LLM calls of a recorded run equal the independent count."""
    with programs(tmp_path / "data") as running:
        found = figures(running, RECORDINGS / name(entry))

    expected = {
        "input_tokens": entry["truth_tokens"]["input"],
        "output_tokens": entry["truth_tokens"]["output"],
        "tool_calls": entry["truth_tool_calls"],
        "llm_calls": entry["truth_llm_calls"] or found["llm_calls"],
        "broken_laws": 0,
    }
    assert found == expected


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not beside this checkout")
def test_the_whole_folder_imports_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    """All 38 documents are read, the files beside them are skipped by name, and twice is once."""
    with programs(tmp_path / "data") as running:
        first = running.command("import", str(RECORDINGS))
        once = running.command("report", "tasks", "--format", "csv").stdout
        again = running.command("import", str(RECORDINGS))
        twice = running.command("report", "tasks", "--format", "csv").stdout

    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert "oracle.json" in first.stderr + first.stdout
    assert len(once.splitlines()) > 38
    assert once == twice
