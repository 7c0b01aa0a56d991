"""Every page on an empty and on a filled warehouse, through Streamlit's own script runner."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.testing import Served, empty, table, warehouse
from dashboard.testing_day import canned

Show = Callable[..., AppTest]
EMPTY = empty()
VIEWS = ("overview", "tasks", "task", "gpus", "health")


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def texts(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.subheader, app.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind) + html(app)


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def figures(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_of_an_empty_warehouse_shows_no_figure(show: Show, nothing: Served, view: str) -> None:
    """Without data no page fails, and none shows an amount of money."""
    app = show(nothing[0], view, task_id="aa01")

    assert [error.value for error in app.exception] == []
    assert [error.value for error in app.error] == []
    assert metrics(app) == {}
    assert "$" not in texts(app)


def test_an_empty_warehouse_shows_how_to_send_the_first_trace(show: Show, nothing: Served) -> None:
    """The first page names the real endpoint, ready to be copied."""
    app = show(nothing[0])

    code = "\n".join(block.value for block in app.code)
    assert "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318" in code
    assert "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317" in code
    assert "taximeter import" in code


def test_an_empty_range_is_not_an_empty_warehouse(show: Show) -> None:
    """Where other times hold data, the page says so instead of asking for a first trace."""
    reports = {name: canned()[name] if name == "gpus_now" else found for name, found in EMPTY.items()}
    with warehouse(reports) as (source, _):
        app = show(source, since="1h")

    assert list(app.code) == []
    assert "?since=all" in html(app)


def test_the_overview_shows_spend_idle_and_multiplier(show: Show, day: Served) -> None:
    """The figures of the first page are those of the reports."""
    app = show(day[0])

    assert not app.exception
    assert metrics(app) == {
        "Cost multiplier": "10.0×",
        "Idle GPUs": "$6.50",
        "Total spend": "$7.55",
        "Model APIs": "$0.050",
        "GPUs at work": "$1.00",
        "Tasks": "3",
    }
    assert (
        "Over the 1 of 3 tasks whose whole cost is known, with 10 model calls in all. In tokens 12.0×."
        in texts(app)
    )


def test_the_overview_draws_waterfall_idle_and_states(show: Show, day: Served) -> None:
    """Three pictures: from one plain call to the cost, idle dollars by cause, GPU time by state."""
    waterfall, idle, states = figures(show(day[0]))

    assert waterfall["data"][0]["name"] == "One plain call"
    assert idle["data"][-1]["name"] == "spare"
    assert "serving" in [bar["name"] for bar in states["data"]]


def test_the_overview_links_the_dearest_task_first(show: Show, day: Served) -> None:
    """Tasks come by cost, each a link to its page in the same range; names are never read as markup."""
    page = html(show(day[0]))

    assert page.index("task_id=aa01") < page.index("task_id=bb02") < page.index("task_id=cc03")
    assert 'href="task?since=all&amp;task_id=aa01"' in page
    assert "fix &lt;the&gt; parser" in page


def test_the_overview_says_how_sure_it_is(show: Show, day: Served) -> None:
    """Known, estimated and provisional shares stand beside the money."""
    page = html(show(day[0]))

    # Calls: 4 known of 4, 2 of 4, 2 of 2. GPU-seconds: 2,700 of 3,600 known; 1,800 provisional.
    assert "Calls with known usage: 80.0 %" in page
    assert "GPU time with a known state: 75.0 %" in page
    assert "GPU time still provisional: 50.0 %" in page
    assert "Amounts that are not known: 3" in page


def test_an_unknown_multiplier_is_a_dash(show: Show) -> None:
    """Without a single pass there is no multiplier, and no waterfall pretends one."""
    with warehouse(canned() | {"multipliers": table("multipliers", [])}) as (source, _):
        app = show(source)

    assert metrics(app)["Cost multiplier"] == "–"
    assert len(figures(app)) == 2


def test_simulated_data_is_marked_on_every_page(show: Show, simulated_day: Served) -> None:
    """Every screen says simulated while the store holds generated rows."""
    for view in VIEWS:
        app = show(simulated_day[0], view, task_id="aa01")

        assert any("Simulated data" in note.value for note in app.info), view


def test_real_data_is_not_marked_simulated(show: Show, day: Served) -> None:
    """The banner needs generated rows."""
    assert not any("Simulated" in note.value for note in show(day[0]).info)


def test_the_list_shows_every_task_latest_first(show: Show, day: Served) -> None:
    """Cost, multiplier and unknowns of each task are in the grid; what is unknown stays null."""
    app = show(day[0], "tasks")

    grid = app.dataframe[0].value
    assert list(grid["task"].str.partition("#")[2]) == ["cc03", "compare vendors", "fix <the> parser"]
    assert list(grid["total_cost_usd"])[1:] == [0.05, 2.0]
    assert grid["total_cost_usd"].isna().tolist() == [True, False, False]
    assert "3 tasks, $2.05 together (of 2 tasks whose cost is known)" in texts(app)


def test_filters_live_in_the_address(show: Show, day: Served) -> None:
    """A filter of the address is applied, and choosing one writes the address."""
    app = show(day[0], "tasks", agent="coder")
    assert len(app.dataframe[0].value) == 1

    app.selectbox(key="filter_agent").set_value("researcher").run()

    assert app.query_params["agent"] == "researcher"
    assert list(app.dataframe[0].value["agent"]) == ["researcher"]


def test_a_search_without_a_match_says_so(show: Show, day: Served) -> None:
    """No match is said in words, not shown as an empty grid."""
    app = show(day[0], "tasks", q="nowhere")

    assert list(app.dataframe) == []
    assert "No task matches." in texts(app)


def test_the_task_page_shows_cost_waits_and_buckets(show: Show, day: Served) -> None:
    """One task: its figures, its buckets with factors, and its steps."""
    app = show(day[0], "task", task_id="aa01")

    assert not app.exception
    assert metrics(app) == {
        "Cost": "$2.00",
        "Multiplier": "10.0×",
        "GPU waiting": "$1.00",
        "Tokens": "30,000",
        "Model calls": "4",
        "Duration": "10.0 min",
    }
    assert "1.25×" in html(app)
    assert list(app.dataframe[0].value["name"])[:2] == ["chat", "run_tests"]


def test_the_task_page_draws_steps_and_gpus_on_one_clock(show: Show, day: Served) -> None:
    """Steps, utilization and GPU states share one time axis."""
    (figure,) = figures(show(day[0], "task", task_id="aa01"))

    axes = {trace["xaxis"] for trace in figure["data"]}
    assert axes == {"x", "x2", "x3"}
    assert {figure["layout"]["xaxis"]["matches"], figure["layout"]["xaxis2"]["matches"]} == {"x3"}


def test_a_task_asks_only_for_its_own_time_and_deployment(show: Show, day: Served) -> None:
    """The GPUs under a task are those of its deployments, from a little before it to a little after."""
    source, asked = day
    show(source, "task", task_id="aa01")

    (window,) = [query for name, query in asked if name == "gpu_timeline"]
    assert window["deployment"] == "qwen-coder"
    assert int(window["until_ns"]) - int(window["since_ns"]) == round(600 * 1.06) * 1_000_000_000


def test_an_unknown_task_is_said_to_be_missing(show: Show, day: Served) -> None:
    """A link to a task that is not there explains itself."""
    app = show(day[0], "task", task_id="zz")

    assert [note.proto.title for note in app.warning] == ["There is no task zz"]


def test_a_provisional_task_says_so(show: Show, day: Served) -> None:
    """Figures that may still move are marked, and a price range is shown where counting is ambiguous."""
    page = html(show(day[0], "task", task_id="bb02"))

    assert "Provisional" in page
    assert "between $0.040 and $0.050" in page


def test_the_gpu_page_names_replicas_that_were_never_needed(show: Show, day: Served) -> None:
    """The scale-down that an alert recommends is on the page that it links to."""
    app = show(day[0], "gpus", deployment="qwen-coder", since="24h")

    assert "qwen-coder: never needed were 1 of 2 replicas" in texts(app)
    assert app.selectbox(key="filter_deployment").value == "qwen-coder"


def test_every_price_says_where_it_is_from(show: Show, day: Served) -> None:
    """A dollar an hour stands beside its source; without a price it says unknown, never $0."""
    page = html(show(day[0], "gpus"))

    assert "contract 2026-11" in page
    assert "price unknown" in page
    assert "$0.00" not in page


def test_health_names_what_needs_a_look(show: Show, day: Served) -> None:
    """Warnings are named first; every check is listed with its value in its unit, unknown as a dash."""
    app = show(day[0], "health")

    assert "To look at: unpriced ratio." in texts(app)
    for cell in ("law: ledger tiles", "20.0 %", "400 ms", "1,234 spans", "–"):
        assert cell in html(app)


def test_a_silent_warehouse_is_one_line(show: Show, day: Served) -> None:
    """When nothing answers, every page says so in a line and shows no figure."""
    source = day[0]._replace(warehouse_url="http://127.0.0.1:9")
    app = show(source)

    assert not app.exception
    assert len(app.error) == 1
    assert metrics(app) == {}
