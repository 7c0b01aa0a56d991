"""Traces in the shapes of 24 libraries, and recorded agent runs, whose figures are known by hand."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from token_bench import LATER_NS, rows_of

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import ManualClock
from warehouse.testing import Store, store
from warehouse.testing_rows import Row

SHARED = Path(__file__).parents[3] / "shared"
SPANS = SHARED / "reference" / "spans"
RUNS = SHARED / "data" / "otlp-agent-runs"
FIXTURES = sorted(path.stem for path in SPANS.glob("*.json") if not path.stem.endswith(".expected"))
TOTALS = (
    "llm_calls", "llm_attempts", "retries", "tool_calls",
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
)  # fmt: skip
RUN_FILES: list[Row] = json.loads((RUNS / "oracle.json").read_text()) if RUNS.exists() else []

needs_spans = pytest.mark.skipif(not FIXTURES, reason="the reference spans are not beside the repository")
needs_runs = pytest.mark.skipif(not RUN_FILES, reason="the recorded runs are not beside the repository")


def bring_in(warehouse: Store, paths: Iterable[Path]) -> set[str]:
    before = {row[0] for row in warehouse.sql("select trace_id from spans")}
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    import_paths(paths, warehouse.folder, options, ManualClock(LATER_NS), lambda *_: None)
    warehouse.load_inbox()
    return {row[0] for row in warehouse.sql("select trace_id from spans")} - before


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("reference")) as warehouse:
        bring_in(warehouse, [SPANS / f"{name}.json" for name in FIXTURES])
        warehouse.refresh(LATER_NS)
        yield warehouse


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    return {name: json.loads((SPANS / f"{name}.expected.json").read_text()) for name in FIXTURES}


@needs_spans
@pytest.mark.parametrize("name", FIXTURES)
def test_a_librarys_task_has_its_known_totals(
    reference: Store, expected: dict[str, dict[str, Any]], name: str
) -> None:
    """Calls, tries, tools and each token sum equal the reference; what is not reported is null, not zero."""
    task_id = expected[name]["task"]["trace_id"]
    (task,) = [row for row in rows_of(reference, "tasks") if row["task_id"] == task_id]
    totals = expected[name]["totals"]

    assert {key: task[key] for key in TOTALS} == {key: totals[key] for key in TOTALS}
    assert task["tool_retries"] == totals.get("tool_retries", 0)
    assert task["rounds"] == len(expected[name]["steps"])
    cost = totals["cost_usd"]
    assert cost is None or float(task["reported_cost_usd"]) == pytest.approx(cost, abs=1e-12)


@needs_spans
@pytest.mark.parametrize("name", FIXTURES)
def test_a_librarys_steps_are_the_known_ones(
    reference: Store, expected: dict[str, dict[str, Any]], name: str
) -> None:
    """The answered calls and the tools of each round are the reference's, with the tools' own time."""
    task_id = expected[name]["task"]["trace_id"]
    steps = [row for row in rows_of(reference, "steps") if row["task_id"] == task_id and row["counted"]]
    rounds = {
        number: (
            [
                row["span_id"]
                for row in steps
                if row["round"] == number and row["kind"] == "llm" and not row["bucket"]
            ],
            {row["span_id"] for row in steps if row["round"] == number and row["kind"] == "tool"},
        )
        for number in {row["round"] for row in steps}
    }
    work_ms = sum(
        (row["work_ns"] or row["end_ns"] - row["start_ns"]) / 1e6 for row in steps if row["kind"] == "tool"
    )

    assert rounds == {
        step["index"]: ([step["llm"]["span_id"]], {tool["span_id"] for tool in step["tools"]})
        for step in expected[name]["steps"]
    }
    assert work_ms == expected[name]["totals"]["tool_latency_ms"]


@needs_spans
def test_the_laws_hold_on_every_library(reference: Store) -> None:
    """Buckets sum to steps and tasks for every dialect."""
    assert reference.check_laws() == []


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict[str, set[str]]]]:
    with store(tmp_path_factory.mktemp("runs")) as warehouse:
        traces = {run["file"]: bring_in(warehouse, [SHARED / "data" / run["file"]]) for run in RUN_FILES}
        warehouse.refresh(LATER_NS)
        yield warehouse, traces


@needs_runs
@pytest.mark.parametrize("run", RUN_FILES, ids=lambda run: run["file"].removeprefix("otlp-agent-runs/"))
def test_a_recorded_run_has_its_known_tokens(runs: tuple[Store, dict[str, set[str]]], run: Row) -> None:
    """Tokens, calls where known, and tool calls of each recording equal what was read from it by hand."""
    warehouse, traces = runs
    tasks = [row for row in rows_of(warehouse, "tasks") if set(row["trace_ids"]) <= traces[run["file"]]]

    def total(key: str) -> int:
        return sum(task[key] for task in tasks)

    assert (total("input_tokens"), total("output_tokens"), total("tool_calls")) == (
        run["truth_tokens"]["input"],
        run["truth_tokens"]["output"],
        run["truth_tool_calls"],
    )
    assert run["truth_llm_calls"] in (None, total("llm_calls"))


@needs_runs
def test_the_laws_hold_on_every_recording(runs: tuple[Store, dict[str, set[str]]]) -> None:
    """Buckets sum to steps and tasks on all recorded runs."""
    assert runs[0].check_laws() == []
