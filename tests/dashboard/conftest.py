from collections.abc import Callable, Iterator
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
