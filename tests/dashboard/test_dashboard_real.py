"""The pages over a real warehouse: the double tells no other columns, and the figures are the store's."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.source import Source
from dashboard.testing import empty
from taximeter.clock import NS_PER_S
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.testing import Store, serve, store
from warehouse.testing_rows import START_NS, TRACE, agent, llm, spans, tool

Show = Callable[..., AppTest]
REPORTS = empty()
LATER_NS = START_NS + 7_200 * NS_PER_S
KINDS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_decimal,
    pa.types.is_floating,
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_boolean,
    pa.types.is_list,
)


@pytest.fixture(scope="module")
def nothing_yet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("nothing")) as opened:
        opened.refresh(LATER_NS)
        yield opened


@pytest.fixture(scope="module")
def one_task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """One task on one declared GPU at 3.60 USD an hour: 60 s call, 60 s tool, 60 s call."""
    gpus = Gpus(sku="H100-SXM", count=1, usd_per_gpu_hour=Decimal("3.6"), price_source="contract")
    settings = Settings(deployments=[Deployment(name="qwen", models=["qwen*"], concurrency=1, gpus=gpus)])
    with store(tmp_path_factory.mktemp("task"), settings) as opened:
        qwen = {"model_requested": "qwen3", "parent": "fixer", "agent_name": "fixer"}
        opened.load(
            spans(
                agent("fixer", 0, 180),
                llm("ask", 0, 60, tokens=(1_000, 50), asked_tool=True, **qwen),
                tool("run_tests", 60, 120, parent="fixer", agent_name="fixer"),
                llm("answer", 120, 180, tokens=(1_200, 100), **qwen),
            )
        )
        opened.refresh(LATER_NS)
        assert opened.check_laws() == []
        with serve(opened) as url:
            yield Source(url, None, "UTC", "http://127.0.0.1:4318", "http://127.0.0.1:4317")


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_the_double_tells_no_other_columns_than_the_warehouse(nothing_yet: Store, name: str) -> None:
    """Every column of a canned report is in the real one, and of the same kind."""
    real = nothing_yet.report(name).schema

    for column in REPORTS[name].schema:
        kind = real.field(column.name).type
        assert [is_kind(kind) for is_kind in KINDS] == [is_kind(column.type) for is_kind in KINDS], column


def test_a_fresh_warehouse_asks_for_a_first_trace(show: Show, nothing_yet: Store) -> None:
    """A real empty warehouse leads to the same page as an empty double."""
    with serve(nothing_yet) as url:
        source = Source(url, None, "UTC", "http://127.0.0.1:4318", "http://127.0.0.1:4317")
        app = show(source)

    assert not app.exception
    assert not app.error
    assert any("OTEL_EXPORTER_OTLP_ENDPOINT" in block.value for block in app.code)
    assert list(app.metric) == []


def test_the_overview_shows_the_bill_of_the_store(show: Show, one_task: Source) -> None:
    """180 s at 3.60 USD an hour are 0.18 USD: 0.12 at work, 0.06 idle while the tool ran."""
    app = show(one_task)

    assert not app.exception
    found = {metric.label: metric.value for metric in app.metric}
    assert found["Total spend"] == "$0.18"
    assert found["GPUs at work"] == "$0.12"
    assert found["Idle GPUs"] == "$0.060"
    assert found["Tasks"] == "1"
    assert re.fullmatch(r"\d+\.\d×", found["Cost multiplier"])


def test_the_task_page_shows_its_part_of_the_bill(show: Show, one_task: Source) -> None:
    """The task pays the calls and the wait, and its picture has steps and GPU states."""
    app = show(one_task, "task", task_id=TRACE)

    assert not app.exception
    found = {metric.label: metric.value for metric in app.metric}
    assert found["Cost"] == "$0.18"
    assert found["GPU waiting"] == "$0.060"
    assert found["Model calls"] == "2"
    assert len(app.dataframe[0].value) == 3
    (picture,) = app.get("plotly_chart")
    assert "waiting for a tool" in picture.proto.spec


@pytest.mark.parametrize("view", ["tasks", "gpus", "health"])
def test_the_other_pages_read_the_real_reports(show: Show, one_task: Source, view: str) -> None:
    """No page fails on what the warehouse really answers."""
    app = show(one_task, view)

    assert not app.exception
    assert not app.error
    assert app.get("html")
