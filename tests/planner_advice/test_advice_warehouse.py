"""Advice from a real warehouse and back into it: found, kept, shown, followed and compared."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from planner.advice import desk
from planner.advice.inbox import send
from planner.advice.load import read_load
from planner.advice.rows import advice_id, followed_row, run_id
from planner.sizing.desk import size_table
from taximeter.cli import app
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.errors import NotFoundError
from taximeter.settings import Deployment, Gpus, Hold, Settings
from warehouse.inbox import waiting
from warehouse.testing import Store, serve, store
from warehouse.testing_rows import START_NS, Row, agent, in_trace, llm, spans, tool

HOUR_S, DAY_S = 3_600, 86_400
NOW_NS = START_NS + (DAY_S + 1_800) * NS_PER_S


def own(path: Path, **gpus: Any) -> Settings:
    """Three cards at $1 an hour for ever since the start."""
    held = Hold.model_validate({"from": to_datetime(START_NS), "to": None})
    told: dict[str, Any] = {
        "sku": "CARD",
        "count": 3,
        "usd_per_gpu_hour": Decimal(1),
        "price_source": "contract",
    }
    cards = Gpus(**{**told, "held": [held], **gpus})
    return Settings(
        data=path, deployments=[Deployment(name="own", models=["own"], gpus=cards, concurrency=1)]
    )


def rounds(number: int) -> list[Row]:
    """A task of two calls on own cards and one on a model API, with a tool between."""
    begin = number * HOUR_S + 60
    api = {"provider": "openai", "parent": "root", "cache_read_tokens": 0}
    return [
        agent("root", begin, begin + 60),
        llm("first", begin, begin + 10, tokens=(100, 10), model_requested="own", parent="root"),
        tool("build", begin + 10, begin + 30, parent="root"),
        llm("second", begin + 30, begin + 40, tokens=(100, 10), model_requested="own", parent="root"),
        llm("api", begin + 41, begin + 50, tokens=(4_000, 10), **api),
        llm("again", begin + 51, begin + 59, tokens=(6_000, 10), **api),
    ]


def recorded(warehouse: Store, tasks: range = range(24), **columns: Any) -> Store:
    """Record a task an hour, in one block, and settle it; `columns` change the calls to the model API."""
    rows = [
        row | columns if row.get("provider") else row
        for number in tasks
        for row in in_trace(f"{number + 1:032x}", rounds(number))
    ]
    warehouse.load(spans(*rows))
    warehouse.refresh(START_NS + (tasks.stop * HOUR_S + 1_800) * NS_PER_S)
    return warehouse


@pytest.fixture(name="day", scope="module")
def _day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root = tmp_path_factory.mktemp("day")
    with store(root, own(root)) as warehouse:
        yield recorded(warehouse)


def rows_of(warehouse: Store, now_ns: int = NOW_NS) -> list[dict[str, Any]]:
    load = read_load(warehouse, warehouse.settings, now_ns=now_ns)
    found: list[dict[str, Any]] = desk.run(load, now_ns).to_pylist()
    return found


def test_advice_of_a_recording_is_what_one_works_out_by_hand(day: Store) -> None:
    """One of three cards serves all: $48 of $72 a day, $1,460 of $2,190 a month; evidence opens its rows."""
    rows = {(row["kind"], row["target"]): row for row in rows_of(day)}
    down = rows["scale_down", "own"]
    params = json.loads(down["evidence_params"])
    evidence = day.report(down["evidence_report"], **params).to_pylist()

    assert down["verdict"] == "advice"
    assert down["saving_usd_month"] == pytest.approx(Decimal(1_460), rel=Decimal("0.01"))
    assert down["cost_usd_month"] == pytest.approx(Decimal(2_190), rel=Decimal("0.01"))
    assert down["added_wait_s_p95"] == 0
    assert (down["calibration_error_ratio"], down["coverage_ratio"]) == (pytest.approx(0, abs=1e-6), 1)
    assert down["price_source"] == "contract"
    assert {row["deployment"] for row in evidence} == {"own"}
    assert sum(row["cost_usd"] for row in evidence) == pytest.approx(Decimal(72), rel=Decimal("0.03"))
    caching = rows["prompt_cache", "root on gpt-4o"]
    assert caching["saving_usd_month"] > 0
    together = next(row for row in rows.values() if row["verdict"] == "combined")
    assert down["saving_usd_month"] < together["saving_usd_month"] <= together["cost_usd_month"]


def test_advice_goes_through_the_inbox_and_its_newest_run_is_the_report(tmp_path: Path) -> None:
    """Two runs are kept; the report shows the newer one, and all with runs=all."""
    settings = own(tmp_path)
    with store(tmp_path, settings) as warehouse:
        load = read_load(recorded(warehouse), settings, now_ns=NOW_NS)
        load.deployments = ()  # replays are not what this is about
        for now_ns in (NOW_NS, NOW_NS + NS_PER_S):
            table = desk.run(load, now_ns)
            send(warehouse.folder, f"advice{run_id(load, now_ns)}", table)
            send(warehouse.folder, f"advice{run_id(load, now_ns)}", table)  # sent twice, kept once
        assert len(waiting(warehouse.folder.inbox)) == 2
        warehouse.load_inbox()
        newest = warehouse.report("recommendations").to_pylist()
        kept = warehouse.report("recommendations", runs="all").num_rows
        only = warehouse.report("recommendations", kind="prompt_cache", verdict="advice").to_pylist()

    assert len(newest) == table.num_rows
    assert kept == 2 * table.num_rows
    assert {row["made_at"] for row in newest} == {to_datetime(NOW_NS + NS_PER_S).replace(tzinfo=None)}
    assert [row["verdict"] for row in newest][:2] == ["combined", "advice"]
    assert [row["advice_id"] for row in only] == [advice_id("prompt_cache", "root on gpt-4o")]


def test_followed_advice_is_compared_with_what_happened_after(tmp_path: Path) -> None:
    """Prompts are cached after the first day: what a task costs less stands beside what was predicted."""
    settings = own(tmp_path)
    with store(tmp_path, settings) as warehouse:
        load = read_load(recorded(warehouse), settings, now_ns=NOW_NS)
        send(warehouse.folder, "advice1", desk.run(load, NOW_NS))
        warehouse.load_inbox()
        given = warehouse.report("recommendations", verdict="advice").to_pylist()
        for row in given:
            if row["kind"] in {"prompt_cache", "scale_down"}:
                send(warehouse.folder, f"followed{row['kind']}", followed_row(row, NOW_NS))
        warehouse.load_inbox()
        early = warehouse.report("recommendations_followed").to_pylist()
        recorded(warehouse, range(25, 25 + 30), cache_read_tokens=3_000)
        later = {row["kind"]: row for row in warehouse.report("recommendations_followed").to_pylist()}

    assert {(row["saved_usd_month"], row["why_not"]) for row in early} == {
        (None, "less than a day has passed since")
    }
    cached = later["prompt_cache"]
    assert cached["why_not"] is None
    # Two calls a task, 3,000 tokens of each at $1.25 instead of $2.50 a million: $0.0075 a task.
    tasks = Decimal(str(cached["tasks_per_day_after"])) * 730 / 24
    assert cached["saved_per_task_usd_month"] == pytest.approx(
        Decimal("0.0075") * tasks, rel=Decimal("0.001")
    )
    assert cached["tasks_per_day_after"] == pytest.approx(24, rel=0.05)
    assert cached["predicted_usd_month"] == pytest.approx(Decimal("0.005") * 730, rel=Decimal("0.03"))
    assert later["scale_down"]["predicted_usd_month"] == pytest.approx(Decimal(1_460), rel=Decimal("0.01"))
    assert abs(later["scale_down"]["saved_usd_month"]) < 60  # nobody let a card go


def test_following_an_advice_that_nobody_gave_is_refused(day: Store) -> None:
    """An id that no run gave is an error, not a row."""
    with pytest.raises(NotFoundError, match="no run gave the advice 'x'"):
        desk.follow(day.settings, "x", reports=day)
    assert waiting(day.folder.inbox) == []


def test_an_empty_store_gives_no_advice(tmp_path: Path) -> None:
    """Nothing recorded is an error that says so, and no figure."""
    with store(tmp_path) as empty, pytest.raises(NotFoundError, match="no closed task and no GPU"):
        read_load(empty, Settings(data=tmp_path), now_ns=NOW_NS)


def test_a_task_that_is_still_open_holds_advice_on_its_deployment_back(tmp_path: Path) -> None:
    """Its last waits are not known yet: the reason is listed."""
    settings = own(tmp_path)
    now_ns = START_NS + 30 * HOUR_S * NS_PER_S
    with store(tmp_path, settings) as warehouse:
        recorded(warehouse, range(28))
        long = llm("lone", 25 * HOUR_S, 29.9 * HOUR_S, model_requested="own", parent="unseen")
        warehouse.load(spans(*in_trace("f" * 32, [long])))
        warehouse.refresh(now_ns)
        rows = rows_of(warehouse, now_ns)

    told = [row["sentence"] for row in rows if row["kind"] == "scale_down"]
    assert told == ["No advice: 1 of its tasks are still open, so its load is not settled."]


def test_sizing_reads_the_same_recording(day: Store) -> None:
    """One call at a time on one card; four rounds of 15 s a turn, the model API's among them."""
    load = read_load(day, day.settings, now_ns=NOW_NS)
    rows = {(row["topic"], row["figure"]): row for row in size_table(load).to_pylist()}

    assert load.window.until_ns % (900 * NS_PER_S) == 0
    assert NOW_NS - 1_800 * NS_PER_S < load.window.until_ns <= NOW_NS - 900 * NS_PER_S
    assert rows["burst", "cards_peak"]["value"] == 1
    assert rows["burst", "replicas_held"]["value"] == 3
    assert rows["turns", "rounds_p50"]["value"] == 4
    assert rows["turns", "turn_p50"]["value"] == 60
    assert rows["turns", "budget_p50"]["value"] == 60


def run(day: Store, url: str, *words: str) -> Any:
    """Run a command of `plan` against a server of the day, over all of it."""
    span = ["--since", str(START_NS), "--until", str(NOW_NS - 900 * NS_PER_S)] if words[0] != "follow" else []
    config = day.folder.root / "taximeter.yaml"
    config.write_text(day.settings.model_dump_json(include={"deployments"}, by_alias=True), encoding="utf-8")
    where = ["--url", url, "-c", str(config), "-d", str(day.folder.root)]
    told = CliRunner().invoke(app, ["plan", *words, *span, *where])
    assert told.exit_code == 0, told.output
    return told


def test_the_command_keeps_what_it_shows_and_follows_it(day: Store, tmp_path: Path) -> None:
    """JSON on standard output, manifests in a folder, the advice in the inbox, followed by its id."""
    with serve(day) as url:
        told = run(day, url, "advise", "-f", "json", "--manifests", str(tmp_path))
        down = next(row for row in json.loads(told.stdout) if row["kind"] == "scale_down")
        day.load_inbox()
        run(day, url, "follow", down["advice_id"])
        day.load_inbox()
        kept = day.report("recommendations", kind="scale_down").to_pylist()

    assert down["verdict"] == "advice"
    assert (tmp_path / "own.scale_down.yaml").read_text(encoding="utf-8") == down["manifest"]
    assert [row["advice_id"] for row in kept] == [down["advice_id"]]
    assert kept[0]["followed_at"] is not None


def test_the_sizing_command_prints_a_table(day: Store) -> None:
    """What is unknown without a reason has no line on a terminal."""
    with serve(day) as url:
        told = run(day, url, "size")

    assert "longest_that_keeps_the_slo" in told.stdout
    assert "rounds_p99" not in told.stdout


def test_only_repeats_that_a_cache_could_have_answered_count(tmp_path: Path) -> None:
    """Read twice in a row is a repeat; after a write, or with another result, it is not."""

    def read(name: str, at: float, arguments: str, result: str, *, pure: bool | None = True) -> Row:
        hashes = {"args_hash": arguments, "result_hash": result, "tool_read_only": pure}
        return tool(name, at, at + 2, parent="root", tool_name=name.partition("#")[0], **hashes)

    rows = [
        agent("root", 0, 100),
        read("read#1", 1, "a", "x"),
        read("read#2", 5, "a", "x"),  # answered by the first
        read("read#3", 9, "b", "y"),
        read("edit#1", 13, "e", "ok", pure=None),
        read("read#4", 17, "b", "y"),  # something was written since
        read("edit#2", 21, "e", "ok", pure=None),
        read("look#1", 25, "c", "1"),
        read("look#2", 29, "c", "2"),  # another result
    ]
    with store(tmp_path) as warehouse:
        warehouse.load(spans(*in_trace("1" * 32, rows)))
        warehouse.refresh(NOW_NS)
        found = {row["tool_name"]: row for row in warehouse.report("recommendations_tools").to_pylist()}

    once = found["read"]
    assert (once["extra_calls"], once["extra_s"], once["is_read_only"]) == (1, 2, True)
    assert found["edit"]["is_read_only"] is False
    assert "look" not in found


def test_a_released_card_saves_what_it_cost_and_an_unknown_card_nothing(tmp_path: Path) -> None:
    """Two forgotten cards of $1 an hour; one is let go, and what it cost a day is what is saved."""
    day_ns = DAY_S * NS_PER_S

    def with_cards(hours: float | None) -> Settings:
        end = None if hours is None else to_datetime(START_NS + round(hours * HOUR_S) * NS_PER_S)
        told = {"sku": "CARD", "count": 1, "usd_per_gpu_hour": Decimal(1), "price_source": "contract"}
        held = Hold.model_validate({"from": to_datetime(START_NS), "to": end})
        return Settings(data=tmp_path, deployments=[Deployment(name="old", gpus=Gpus(**told, held=[held]))])

    with store(tmp_path, with_cards(None)) as warehouse:
        warehouse.load(spans(*in_trace("1" * 32, [agent("root", 0, 9), llm("a", 1, 5, parent="root")])))
        warehouse.refresh(NOW_NS)
        load = read_load(warehouse, warehouse.settings, now_ns=NOW_NS)
        send(warehouse.folder, "advice1", desk.run(load, NOW_NS))
        warehouse.load_inbox()
        (row,) = warehouse.report("recommendations", kind="release_gpu", verdict="advice").to_pylist()
        send(warehouse.folder, "followed1", followed_row(row, NOW_NS))
        warehouse.load_inbox()
    with store(tmp_path, with_cards((NOW_NS - START_NS) / NS_PER_S / HOUR_S)) as warehouse:
        warehouse.load(spans(*in_trace("2" * 32, [llm("b", 2 * DAY_S, 2 * DAY_S + 5)])))
        warehouse.refresh(NOW_NS + 2 * day_ns)
        (later,) = warehouse.report("recommendations_followed").to_pylist()

    assert row["saving_usd_month"] == pytest.approx(Decimal(730), rel=Decimal("0.001"))
    assert later["usd_per_day_before"] == pytest.approx(Decimal(24), rel=Decimal("0.001"))
    assert later["usd_per_day_after"] == 0
    assert later["saved_usd_month"] == pytest.approx(Decimal(730), rel=Decimal("0.01"))
