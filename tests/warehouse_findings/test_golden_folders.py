"""Golden folders: one per dialect, a request as the library sends it beside what must come of it."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from findings_bench import LATER_NS, START_NS, Row, load

from collector.dialects.read import dialects
from collector.otlp_json import to_protobuf
from warehouse.testing import Store, store

ROOT = Path(__file__).parents[2]
GOLDENS = Path(__file__).parent / "goldens"
NAMES = sorted(folder.name for folder in GOLDENS.iterdir() if folder.is_dir())


def read(name: str, file: str) -> Any:
    return json.loads((GOLDENS / name / file).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("goldens")) as opened:
        load(
            opened,
            *(to_protobuf("traces", json.dumps(read(name, "request.json")).encode()) for name in NAMES),
        )
        opened.refresh(max(LATER_NS, START_NS) + 400 * 86_400 * 10**9)
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_folder_comes_out_as_it_says(warehouse: Store, name: str) -> None:
    """The task's figures and of every span dialect, role, verdict and sources are those of expected.json."""
    expected = read(name, "expected.json")
    spans = {
        row["span_id"]: row
        for row in warehouse.report("explain").to_pylist()
        if row["span_id"] in expected["spans"]
    }
    task_id = next(iter(spans.values()))["task_id"]
    (task,) = warehouse.report("tasks", task_id=task_id).to_pylist()

    assert chosen(task, expected["task"]) == expected["task"]
    for span_id, meant in expected["spans"].items():
        row = {**spans[span_id], "sources": json.loads(spans[span_id]["sources"])}
        row["sources"] = chosen(row["sources"], meant.get("sources", {}))
        assert chosen(row, meant) == meant


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_folder_is_named_after_its_dialect(name: str) -> None:
    """Each folder is of a dialect that is there, and some span of it is read by that dialect."""
    assert name in {dialect.id for dialect in dialects()}
    assert name in {span["dialect"] for span in read(name, "expected.json")["spans"].values()}


def test_the_worked_example_is_the_real_one() -> None:
    """Dialect, request and result that CONTRIBUTING shows are the files that the tests read."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## To add a dialect", 1)[1].split("\n## ", 1)[0]
    blocks = dict(re.findall(r"`([\w/.]+)`:?\n\n```\w+\n(.*?)```", section, flags=re.DOTALL))

    file = "collector/dialects/sglang.toml"
    assert tomllib.loads(blocks[file]) == tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
    for part in ("request.json", "expected.json"):
        path = f"tests/warehouse_findings/goldens/sglang/{part}"
        assert json.loads(blocks[path]) == json.loads((ROOT / path).read_text(encoding="utf-8"))


def chosen(row: Row, meant: Row) -> Row:
    return {key: row.get(key) for key in meant}
