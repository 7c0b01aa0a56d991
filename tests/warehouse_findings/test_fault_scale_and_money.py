"""Faults of size, and questions that others leave open: each with a fixture of its kind."""

import hashlib
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from alerts.look import observe
from alerts.rule import load_rules
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.errors import BadInputError
from taximeter.settings import Deployment, Gpus, Hold, Prices, Settings
from warehouse.reports import read_reports
from warehouse.testing import Store, store
from warehouse.testing_rows import START_NS, Row, agent, in_trace, llm, spans, tool

ROOT = Path(__file__).parents[2]
MANY = 20_000
LATER_NS = START_NS + 86_400 * NS_PER_S
HOUR_S = 3_600


def one_call(number: int, at_s: float, **columns: object) -> list[Row]:
    trace = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
    call = llm("call", at_s, at_s + 1, tokens=(1_000_000, 0), model_requested="m", **columns)
    return in_trace(trace, [call])


@pytest.fixture(name="busy", scope="module")
def _busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A session of 20,000 tasks."""
    folder = tmp_path_factory.mktemp("busy")
    with store(folder / "data") as warehouse:
        rows = [row for number in range(MANY) for row in one_call(number, number, session_id="long")]
        warehouse.load(spans(*rows))
        warehouse.refresh(LATER_NS)
        yield warehouse


@pytest.mark.fault(86)
def test_a_long_session_is_read_a_page_at_a_time(busy: Store) -> None:
    """The newest of 20,000 tasks of a session come first, as many as asked for, then those before."""
    page = busy.report("tasks", session="long", limit=50)
    before = busy.report("tasks", session="long", limit=50, until_ns=page["started_at"][49].value * 1_000)

    assert (page.num_rows, before.num_rows) == (50, 50)
    assert set(page["task_id"].to_pylist()).isdisjoint(before["task_id"].to_pylist())


@pytest.mark.fault(89)
@pytest.mark.parametrize(
    "name", ["tasks", "task_steps", "multipliers", "spend", "load_profile", "idle_waste"]
)
def test_totals_are_read_from_what_was_computed_before(busy: Store, name: str) -> None:
    """No report that people wait for reads spans or samples: token sums are there when it is asked."""
    report = read_reports()[name]
    with busy.connection.cursor() as cursor:
        parameters = {**report.parameters, **({"now_ns": LATER_NS} if report.takes_now else {})}
        plan = cursor.execute(f"explain {report.sql}", parameters).fetchall()

    read = {
        line.split(":")[-1].strip(" │").split(".")[-1] for line in plan[0][1].splitlines() if "Table:" in line
    }
    assert read
    assert read.isdisjoint({"spans", "samples", "logs", "points"})


@pytest.mark.fault(90)
def test_the_published_speed_names_machine_and_peer() -> None:
    """Figures of speed stand beside the machine's size and a peer's figure of the same run."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")

    assert "cores" in page
    assert "rotel" in page


@pytest.mark.fault(91)
def test_the_database_is_no_larger_than_what_was_sent(busy: Store) -> None:
    """20,000 spans, everything computed from them included, take less room than 700 bytes each."""
    busy.connection.execute("checkpoint")

    assert busy.folder.database.stat().st_size < MANY * 700 * 2


@pytest.fixture(name="paid", scope="module")
def _paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two users; one dollar a call, one call an hour of the one, and one a day of the other."""
    folder = tmp_path_factory.mktemp("paid")
    row = {"model": "m", "from": date(2026, 1, 1), "input_usd_per_mtok": 1, "output_usd_per_mtok": 0}
    (folder / "prices.yaml").write_text(yaml.safe_dump({"tokens": [row]}), encoding="utf-8")
    with store(folder / "data", Settings(prices=Prices(file=folder / "prices.yaml"))) as warehouse:
        calls = [one_call(hour, hour * HOUR_S, user_id="ann") for hour in range(60)]
        calls += [one_call(100 + day, day * 24 * HOUR_S + 9, user_id="bob") for day in range(2)]
        warehouse.load(spans(*(row for rows in calls for row in rows)))
        warehouse.refresh(START_NS + 60 * HOUR_S * NS_PER_S)
        yield warehouse


@pytest.mark.fault(94)
def test_the_cost_of_a_user_in_a_rolling_window_is_one_row(paid: Store) -> None:
    """24 hours that touch two days are one figure per user, and the days add up to it."""
    window = paid.report("spend", since="24h", per="range", group_by="user").to_pylist()
    days = paid.report("spend", since="24h", group_by="user").to_pylist()

    assert [(row["group_key"], row["day"], row["total_cost_usd"]) for row in window] == [("ann", None, 24)]
    assert sum(row["total_cost_usd"] for row in days if row["group_key"] == "ann") == 24
    assert len(days) == 2


@pytest.mark.fault(95)
def test_a_budget_warns_and_then_calls(paid: Store, tmp_path: Path) -> None:
    """A budget with two levels is two rules: 60 dollars in a month warn above 50 and call above 80."""
    file = tmp_path / "rules.yaml"
    file.write_text(
        """rules:
  - {name: month_warn, report: spend, params: {since: 30d, per: range, group_by: user}, group_by: [group_key],
     condition: total_cost_usd > 50, severity: warning, title: "{group_key}: {total_total_cost_usd}", text: x}
  - {name: month_call, report: spend, params: {since: 30d, per: range, group_by: user}, group_by: [group_key],
     condition: total_cost_usd > 80, severity: critical, title: t, text: x}
""",
        encoding="utf-8",
    )
    rules = {
        loaded.rule.name: loaded for loaded in load_rules(file, {"idle_after_s": 60.0, "busy_ratio": 0.05})
    }
    now_ns = START_NS + 60 * HOUR_S * NS_PER_S
    over = {}
    for name in ("month_warn", "month_call"):
        rule = rules[name].rule
        seen = observe(rules[name], paid.report(rule.report, **rule.params), now_ns)
        over[name] = [dict(group)["group_key"] for group, found in seen.groups.items() if found.bad]

    assert over == {"month_warn": ["ann"], "month_call": []}


def test_spend_says_which_groups_and_periods_there_are(paid: Store) -> None:
    """A word that is none is told, with those that are."""
    with pytest.raises(BadInputError, match="per is day or range"):
        paid.report("spend", per="week")


@pytest.mark.fault(96, 99)
def test_waste_is_one_number_and_a_tools_part_of_it_is_told(tmp_path: Path) -> None:
    """Of two cards held for an hour one waited 600 s for a tool: 1 dollar of the 11 that nobody used."""
    held = Hold.model_validate(
        {"from": to_datetime(START_NS), "to": to_datetime(START_NS + HOUR_S * NS_PER_S)}
    )
    gpus = Gpus(sku="CARD", count=2, usd_per_gpu_hour=Decimal(6), price_source="contract", held=[held])
    settings = Settings(deployments=[Deployment(name="own", models=["own"], gpus=gpus, concurrency=1)])
    rows = [
        agent("agent", 0, 1_800),
        llm("ask", 0, 600, parent="agent", tokens=(10, 1), model_requested="own"),
        tool("search", 600, 1_200, parent="agent", tool_name="search"),
        llm("answer", 1_200, 1_200.5, parent="agent", tokens=(10, 1), model_requested="own"),
    ]
    with store(tmp_path / "data", settings) as warehouse:
        warehouse.load(spans(*in_trace("1" * 32, rows)))
        warehouse.refresh(START_NS + 2 * HOUR_S * NS_PER_S)
        waste = warehouse.report("idle_waste").to_pylist()

    by_tool = {row["tool"]: row["cost_usd"] for row in waste if row["cause"] == "tool_wait"}
    assert by_tool == {"search": 1}
    assert sum(row["gpu_s"] for row in waste) == pytest.approx(2 * HOUR_S - 600.5)
    assert round(sum(row["cost_usd"] for row in waste), 3) == Decimal("10.999")
