"""Puts the bench within reach, and tells at the end of a run how many known faults have a fixture."""

import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
_LINES: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(name): a row of the table of fixtures with numbers")
    config.addinivalue_line(
        "markers", "fault(*numbers): entries of the fault list that the test is a fixture of"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if HERE in item.path.parents]
    marked = {number for item in here for mark in item.iter_markers("fault") for number in mark.args}
    elsewhere = tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["elsewhere"]
    rows = {mark.args[0] for item in here for mark in item.iter_markers("row")}
    _LINES.append(
        f"fault fixtures: {len(rows)} rows of the table with numbers, {len(here)} tests here,"
        f" {len(marked | {int(number) for number in elsewhere})} numbered entries"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(_LINES[-1])
