"""The same inputs give the same reports, byte for byte, on every run and in every order of loading."""

from decimal import Decimal
from pathlib import Path

import pytest

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import NS_PER_S, ManualClock
from taximeter.layout import DataFolder
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.formats import write
from warehouse.reports import read_reports
from warehouse.testing import store

SHARED = Path(__file__).parents[2] / "../shared/data"
NOW_NS = 1_796_126_400 * NS_PER_S
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
# Answered one task at a time, or by when they are asked.
LEFT_OUT = {"explain", "health"}


def recordings() -> list[Path]:
    runs, sessions = SHARED / "otlp-agent-runs", SHARED / "agentcgroup-coding-agents" / "local_glm"
    if not runs.is_dir() or not sessions.is_dir():
        pytest.skip("the recorded agent runs are not here")
    return [runs / "adk_py", runs / "kagent", *sorted(sessions.iterdir())[:12]]


def reports(folder: Path, paths: list[Path], *, in_steps: bool) -> dict[str, bytes]:
    gpus = Gpus(sku="H100-SXM", count=2, usd_per_gpu_hour=Decimal("3.99"), price_source="list")
    settings = Settings(deployments=[Deployment(name="own", models=["*glm*", "*GLM*"], gpus=gpus)])
    DataFolder(folder).make()
    with store(folder, settings) as warehouse:
        for path in paths:
            import_paths([path], warehouse.folder, OPTIONS, ManualClock(NOW_NS), lambda *_: None)
            if in_steps:
                warehouse.load_inbox()
        warehouse.load_inbox()
        warehouse.refresh(NOW_NS)
        assert warehouse.check_laws() == []
        names = read_reports().keys() - LEFT_OUT
        return {name: write(warehouse.report(name), "csv") for name in sorted(names)}


def test_the_same_recordings_give_the_same_bytes(tmp_path: Path) -> None:
    """Twice, once loaded at once and once file by file from the last to the first: every report is equal."""
    paths = recordings()
    once = reports(tmp_path / "once", paths, in_steps=False)
    again = reports(tmp_path / "again", paths[::-1], in_steps=True)

    assert [name for name in once if once[name] != again[name]] == []
    full = {name for name, content in once.items() if len(content.splitlines()) > 1}
    assert {
        "tasks",
        "task_steps",
        "multipliers",
        "gpu_ledger",
        "bursts",
        "turn_budget",
        "step_profile",
    } <= full
