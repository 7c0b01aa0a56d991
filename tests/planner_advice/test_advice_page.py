"""The page of advice, through Streamlit's own script runner."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.source import Source, ask
from dashboard.testing import empty, warehouse
from dashboard.testing_day import canned
from dashboard.views.advice import evidence_command

APP = Path(__file__).parents[2] / "dashboard" / "app.py"


@pytest.fixture(autouse=True)
def _forget() -> None:
    ask.clear()


def shown(source: Source) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=30)
    for key, section in source.as_secrets().items():
        app.secrets[key] = section
    app.switch_page("views/advice.py")
    return app.run()


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def words(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.error, app.code, app.subheader)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


@pytest.fixture(name="page", scope="module")
def _page() -> Iterator[AppTest]:
    ask.clear()
    with warehouse(canned()) as (source, _):
        yield shown(source)


def test_the_page_shows_savings_ranges_evidence_and_confidence(page: AppTest) -> None:
    """Replayed advice has an amount, assumed advice its range, and only the combined saving is a sum."""
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric} == {
        "Together a month": "$2,912.70",
        "of what model calls and cards cost": "$6,000.00",
        "Pieces of advice": "2",
    }
    table = html(page)
    assert ">$2,912.70<" in table
    assert ">$0.00 to $57.52<" in table
    assert ">400 ms / 2.0 s<" in table
    assert ">Hold 1.<" in table
    assert ">1,200 rows</a>" in table
    assert 'title="gpu_ledger"' in table
    assert "tool &lt;grep&gt;" in table


def test_evidence_opens_the_page_that_shows_its_rows_over_the_time_of_the_advice(page: AppTest) -> None:
    """Cards open on their page with the deployment; everything else on the tasks of that week."""
    table = html(page).replace("&amp;", "&")

    week = "since=2026-11-23T09%3A00Z&until=2026-11-30T09%3A00Z"
    assert f'href="gpus?{week}&deployment=qwen-coder"' in table
    assert f'href="tasks?{week}"' in table
    assert "taximeter report gpu_ledger -p deployment=qwen-coder --since 1 --until 2" in words(page)
    evil = {"evidence_report": "tasks", "evidence_params": json.dumps({"agent": "'; rm -rf /"})}
    assert shlex.split(evidence_command(evil)) == ["taximeter", "report", "tasks", "-p", "agent='; rm -rf /"]


def test_reasons_manifests_and_followed_advice_are_there(page: AppTest) -> None:
    """Why there is no other advice, the file to apply, and what happened after one was followed."""
    assert "no spot price of H100-SXM is in the price book." in html(page)
    assert "kind: HorizontalPodAutoscaler" in words(page)
    assert ">$2,500.00<" in html(page)
    assert "100 → 104" in html(page)
    assert "taximeter plan follow c0c0" in words(page)
    assert "taximeter plan follow d0d0" not in words(page)  # it is followed


def test_without_advice_the_page_says_how_to_get_some_and_no_figure() -> None:
    """A fresh warehouse has no advice, and no amount is shown."""
    with warehouse(empty()) as (source, _):
        app = shown(source)

    assert not app.exception
    assert list(app.metric) == []
    assert "taximeter plan advise" in words(app)
    assert "$" not in words(app)


def test_only_reasons_are_told_as_such() -> None:
    """Where every kind was refused nothing looks like a saving."""
    reports: dict[str, pa.Table] = canned()
    only = reports["recommendations"].filter(pa.compute.equal(reports["recommendations"]["verdict"], "none"))
    with warehouse(
        reports | {"recommendations": only, "recommendations_followed": empty()["recommendations_followed"]}
    ) as (source, _):
        app = shown(source)

    assert not app.exception
    assert "Nothing was found" in words(app)
    assert "$" not in html(app)
