"""The door to a lake stays open: schema, load, models, laws and reports on DuckLake as on a plain file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import NS_PER_S, ManualClock
from taximeter.layout import DataFolder
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.formats import write
from warehouse.migrate import migrate
from warehouse.reports import read_reports
from warehouse.testing import Store, store

SHARED = Path(__file__).parents[2] / "../shared/data"
NOW_NS = 1_796_126_400 * NS_PER_S
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
LEFT_OUT = {"explain", "health"}  # of one task, and of when it is asked


@contextmanager
def lake(folder: Path, settings: Settings) -> Iterator[Store]:
    """Open a warehouse whose tables are Parquet files of a lake, with a local file as its catalog."""
    extension = files("duckdb_extension_ducklake").joinpath(
        f"extensions/v{duckdb.__version__}/ducklake.duckdb_extension"
    )
    threads = len(os.sched_getaffinity(0))
    connection = duckdb.connect(config={"threads": threads, "autoinstall_known_extensions": False})
    with connection:
        connection.execute(f"load '{extension}'")
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(
            f"attach 'ducklake:{folder / 'catalog.ducklake'}' as lake (data_path '{folder / 'files'}')"
        )
        connection.execute("use lake")
        migrate(connection)
        yield Store(connection, settings.model_copy(update={"data": folder}))


def reports(warehouse: Store) -> dict[str, bytes]:
    """Import some recordings, compute, and answer every report as CSV."""
    runs = SHARED / "otlp-agent-runs"
    for path in (runs / "adk_py", runs / "kagent"):
        import_paths([path], warehouse.folder, OPTIONS, ManualClock(NOW_NS), lambda *_: None)
    warehouse.load_inbox()
    warehouse.refresh(NOW_NS)
    assert warehouse.check_laws() == []
    names = sorted(read_reports().keys() - LEFT_OUT)
    return {name: write(warehouse.report(name), "csv") for name in names}


def test_every_report_is_the_same_on_a_lake(tmp_path: Path) -> None:
    """No table needs keys, indexes, sequences or enum types: the lake has none of them."""
    if not (SHARED / "otlp-agent-runs").is_dir():
        pytest.skip("the recorded agent runs are not here")
    gpus = Gpus(sku="H100-SXM", count=2, usd_per_gpu_hour=Decimal("3.99"), price_source="list")
    settings = Settings(deployments=[Deployment(name="own", models=["gemini*"], gpus=gpus)])
    for name in ("plain", "lake"):
        DataFolder(tmp_path / name).make()
    with store(tmp_path / "plain", settings) as warehouse:
        plain = reports(warehouse)
    with lake(tmp_path / "lake", settings) as warehouse:
        found = reports(warehouse)

    assert [name for name in plain if plain[name] != found[name]] == []
    full = {name for name, content in plain.items() if len(content.splitlines()) > 1}
    assert {
        "tasks",
        "task_steps",
        "multipliers",
        "gpu_ledger",
        "gpu_timeline",
        "idle_waste",
        "bursts",
    } <= full
