import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.source import Source, ask
from dashboard.testing import Served, empty, warehouse
from dashboard.testing_day import canned, simulated

APP = Path(__file__).parents[2] / "dashboard" / "app.py"

Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _forget() -> None:
    ask.clear()


@pytest.fixture
def day() -> Iterator[Served]:
    with warehouse(canned()) as served:
        yield served


@pytest.fixture
def simulated_day() -> Iterator[Served]:
    with warehouse(simulated()) as served:
        yield served


@pytest.fixture
def nothing() -> Iterator[Served]:
    with warehouse(empty()) as served:
        yield served


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the real program over a simulated day; gives the address of its pages."""
    folder = tmp_path_factory.mktemp("program")
    with warehouse(simulated()) as (source, _), running(source, folder) as url:
        yield url


@contextmanager
def running(source: Source, folder: Path) -> Iterator[str]:
    environment = {**os.environ, "TAXIMETER_WAREHOUSE__URL": source.warehouse_url, "HOME": str(folder)}
    with subprocess.Popen(
        [sys.executable, "-m", "dashboard", "--port", "0", "--data", str(folder)],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(APP.parents[1])},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        ready = process.stderr.readline()
        try:
            yield ready.rpartition(" ")[2].strip()
        finally:
            process.terminate()
            rest = process.stderr.read()
            process.wait(timeout=20)
    assert process.returncode in (0, -signal.SIGTERM), rest
    assert "Traceback" not in rest


@pytest.fixture
def show() -> Open:
    """Open a page of the app as a visitor would, with the query of its address."""

    def show(source: Source, view: str = "overview", **query: str) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=30)
        app.secrets = source.as_secrets()
        app.query_params = {"since": "all"} | query
        app.run()
        if view != "overview":
            app.switch_page(f"views/{view}.py").run()
        return app

    return show
