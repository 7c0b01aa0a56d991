"""Backtests of recordings in a real warehouse, against figures worked out by hand."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from planner import backtest, desk
from planner.backtest import Case, Recorded, calibrate, run_backtest
from planner.desk import Wanted, read_case
from planner.facts import look
from planner.fleet import Fleet, Pool
from planner.outcome import Slo, percentiles
from planner.policy_file import FleetBlock, NamedBlocks
from planner.recording import Asked, read_workload
from planner.service_model import read_service_model
from planner.tables import backtest_table, sentence
from planner.testing import arrivals, loops
from taximeter.cli import app
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.errors import BadInputError, NotFoundError
from taximeter.settings import Deployment, Gpus, Hold, Settings
from warehouse.testing import Store, serve, store
from warehouse.testing_rows import START_NS, Row, agent, in_trace, llm, spans, tool

LATER_NS = START_NS + 86_400 * NS_PER_S
FLEET = FleetBlock.model_validate({"cold_start": {"p50_s": 20}})
POLICIES = [
    NamedBlocks.model_validate(one)
    for one in (
        {"fixed": {"replicas": 1}},
        {"name": "zero", "queue_length": {"tick_s": 1.0, "down_after_s": 60}},
    )
]


def own(path: Path, usd: int | None = 36, concurrency: int | None = 1) -> Settings:
    """One card at $36 an hour, held for an hour: a cent a second."""
    held = Hold.model_validate(
        {"from": to_datetime(START_NS), "to": to_datetime(START_NS + 3_600 * NS_PER_S)}
    )
    price = None if usd is None else Decimal(usd)
    gpus = Gpus(sku="CARD", count=1, usd_per_gpu_hour=price, price_source="contract", held=[held])
    return Settings(
        data=path, deployments=[Deployment(name="own", models=["own"], gpus=gpus, concurrency=concurrency)]
    )


def call(name: str, start_s: float, end_s: float, **columns: Any) -> Row:
    return llm(name, start_s, end_s, tokens=(100, 10), model_requested="own", parent="root", **columns)


def task() -> list[Row]:
    """An agent from 100 to 400 s: a call of 10 s, a tool of 270 s, a call of 20 s."""
    return [
        agent("root", 100, 400),
        call("first", 100, 110),
        tool("build", 110, 380, parent="root"),
        call("second", 380, 400),
    ]


def recorded(warehouse: Store, *traces: list[Row]) -> Store:
    for number, rows in enumerate(traces, start=1):
        warehouse.load(spans(*in_trace(f"{number:032x}", rows)))
    warehouse.refresh(LATER_NS)
    return warehouse


def test_a_backtest_of_one_task_is_what_one_works_out_by_hand(tmp_path: Path) -> None:
    """An hour costs $36; let go a minute after each call it is held 20 + 10 + 60 s and 20 + 20 + 60 s."""
    settings = own(tmp_path / "d")
    with store(tmp_path / "d", settings) as warehouse:
        case, notes = read_case(recorded(warehouse, task()), settings, Wanted(), FLEET)
        done = run_backtest(case, POLICIES)
    rows = {row["policy"]: row for row in backtest_table(done).to_pylist()}

    assert rows["as recorded"]["cost_usd"] == 36
    assert rows["fixed-1"]["cost_usd"] == 36
    assert rows["fixed-1"]["saving_usd"] == 0
    zero = rows["zero"]
    assert (zero["cold_starts"], zero["billed_gpu_hours"] * 3_600) == (2, pytest.approx(90 + 100, abs=3))
    assert zero["cost_usd"] == pytest.approx(Decimal("1.90"), abs=Decimal("0.03"))
    assert (zero["added_wait_s_p50"], zero["slo_ratio"], zero["keeps_slo"]) == (pytest.approx(20), 0, False)
    assert zero["task_added_wait_s_p50"] == pytest.approx(40)
    assert zero["added_wait_s_p95"] is None  # two calls have no 95th percentile
    assert (zero["coverage_ratio"], zero["calibration_error_ratio"]) == (1, pytest.approx(0, abs=1e-6))
    assert done.cheapest == "fixed-1"
    assert "calibration error: 0.0 %" in sentence(done)
    assert notes == ["queueing estimated: 1 steps at once, first come first served",
                     "no slow-down by company: 2 calls with known tokens, 200 needed"]  # fmt: skip


def test_states_of_a_replayed_recording_are_those_of_the_ledger(tmp_path: Path) -> None:
    """A fixed fleet served, waited for the tool and stood without a task as long as the ledger says."""
    settings = own(tmp_path / "d")
    with store(tmp_path / "d", settings) as warehouse:
        case, _ = read_case(recorded(warehouse, task()), settings, Wanted(), FLEET)
        rows = {row["policy"]: row for row in backtest_table(run_backtest(case, POLICIES[:1])).to_pylist()}

    for state, seconds in (("serving", 30), ("tool_wait", 270), ("no_task", 3_300), ("spare", 0)):
        for policy in ("as recorded", "fixed-1"):
            assert rows[policy][f"{state}_gpu_hours"] * 3_600 == pytest.approx(seconds, abs=1e-3), (
                policy,
                state,
            )


def test_told_queueing_is_stripped_from_the_service_time(tmp_path: Path) -> None:
    """A call of 10 s of which the server queued 4 s works for 6 s; the 4 s are recorded, not added."""
    settings = own(tmp_path / "d")
    rows = [agent("root", 100, 120), call("first", 100, 110, queue_ns=4 * NS_PER_S)]
    with store(tmp_path / "d", settings) as warehouse:
        load = read_case(recorded(warehouse, rows), settings, Wanted(), FLEET)[0].workload

    assert (load.work_s, load.wait_s, load.queueing) == ([pytest.approx(6)], [pytest.approx(4)], "measured")


def test_queueing_that_nobody_told_is_estimated_first_come_first_served(tmp_path: Path) -> None:
    """Two tasks call at 100 s and end at 110 and 120 s with one slot: the second queued for 10 s."""
    settings = own(tmp_path / "d")
    with store(tmp_path / "d", settings) as warehouse:
        one, two = ([agent("root", 100, 130), call("first", 100, end)] for end in (110, 120))
        case, _ = read_case(recorded(warehouse, one, two), settings, Wanted(), FLEET)
        load = case.workload

    assert sorted(zip(load.wait_s, load.work_s, strict=True)) == [
        (0, pytest.approx(10)),
        (pytest.approx(10), pytest.approx(10)),
    ]
    assert load.queueing == "estimated"
    assert calibrate(case).error_ratio == pytest.approx(0, abs=1e-6)


def test_the_next_prompt_of_a_conversation_waits_for_the_answer_and_the_person(tmp_path: Path) -> None:
    """Two tasks of one session, a minute apart, are one loop; an hour apart they are two."""
    settings = own(tmp_path / "d")

    def said(start: float) -> list[Row]:
        return [
            agent("root", start, start + 10, session_id="s"),
            call("first", start, start + 10, session_id="s"),
        ]

    with store(tmp_path / "d", settings) as warehouse:
        load = read_workload(recorded(warehouse, said(0), said(70), said(3_600)), Asked("own"))

    assert load.before == [0, 1, 0]
    assert load.gap_s == pytest.approx([0, 60, 3_600])


def test_money_without_a_price_is_unknown_and_waits_are_told_all_the_same(tmp_path: Path) -> None:
    """No price, no cost and no saving: GPU-hours order the policies, and the answer says so."""
    settings = own(tmp_path / "d", usd=None)
    with store(tmp_path / "d", settings) as warehouse:
        case, _ = read_case(recorded(warehouse, task()), settings, Wanted(), FLEET)
        done = run_backtest(case, POLICIES)
    rows = backtest_table(done).to_pylist()

    assert [row["cost_usd"] for row in rows] == [None, None, None]
    assert [row["saving_usd"] for row in rows] == [None, None, None]
    assert rows[1]["policy"] == "zero"
    assert sentence(done).startswith("No policy with a known price keeps the SLO")


def test_what_cannot_be_replayed_is_refused_with_the_reason(tmp_path: Path) -> None:
    """A deployment without calls, one without a concurrency, and two without a choice."""
    settings = own(tmp_path / "d")
    with store(tmp_path / "d", settings) as warehouse:
        recorded(warehouse, task())
        with pytest.raises(NotFoundError, match="no closed task with a call to 'other'"):
            read_case(warehouse, settings, Wanted(deployment="other", concurrency=1), FLEET)
        with pytest.raises(BadInputError, match="how many steps a replica serves at once"):
            read_case(warehouse, settings, Wanted(deployment="other"), FLEET)
    two = Settings(deployments=[*settings.deployments, Deployment(name="second")])
    with store(tmp_path / "d", settings) as warehouse, pytest.raises(NotFoundError, match="own, second"):
        read_case(warehouse, two, Wanted(), FLEET)


def test_arrivals_without_durations_need_a_service_model_which_is_shown(tmp_path: Path) -> None:
    """A request log has no service times: without a model it is refused, with one it is assumed."""
    settings = own(tmp_path / "d")
    rows = [call(name, at, at, flags=["untimed"]) for name, at in (("first", 5), ("second", 8))]
    with store(tmp_path / "d", settings) as warehouse:
        recorded(warehouse, *([row] for row in rows))
        with pytest.raises(NotFoundError, match="--service-model"):
            read_workload(warehouse, Asked("own"))
        model = read_service_model("prefill_tokens_per_s=100,decode_tokens_per_s=10")
        load = read_workload(warehouse, Asked("own", service_model=model))

    assert (load.work_s, load.gap_s, load.kind) == ([2, 2], [0, 3], "open loop")
    assert load.assumed == str(model)


def test_a_calibration_without_a_recording_says_why_there_is_none() -> None:
    """No replicas, or only arrivals: the error is unknown, never 0."""
    load = loops(3, 3, 100)
    case = Case(load, Fleet(), look(load, Fleet(), None))

    assert calibrate(case).error_ratio is None
    assert "no replicas were recorded" in calibrate(case).note


def test_a_wrong_recording_shows_in_the_calibration() -> None:
    """Two replicas that are said to have done what needs four give a large error, the right line none."""
    load = arrivals([1.0] * 200, [3.9] * 200)
    fleet = Fleet((Pool(concurrency=1),))
    end = load.start_s[-1] + 3.9

    def error(replicas: int) -> float | None:
        line = ((0.0, replicas), (end, 0))
        ran = Recorded(gpu_hours=replicas * end / 3_600, line=line)
        return calibrate(Case(load, fleet, look(load, fleet, replicas), recorded=ran)).error_ratio

    assert error(4) == pytest.approx(0, abs=1e-3)
    assert (error(2) or 0) > 1


def test_the_front_holds_what_nothing_beats_and_the_cheapest_keeps_the_slo() -> None:
    """One replica is cheapest and late, two are in time; four are dearer than two and no quicker."""
    load = arrivals([1.0] * 300, [1.9] * 300)
    fleet = Fleet((Pool(usd_per_replica_hour=Decimal(36)),))
    case = Case(load, fleet, look(load, fleet, 2), Slo(0.5, 0.95))
    done = run_backtest(case, [NamedBlocks.model_validate({"fixed": {"replicas": n}}) for n in (1, 2, 4)])

    assert {one.outcome.policy for one in done.results if one.is_on_front} == {"fixed-1", "fixed-2"}
    assert done.cheapest == "fixed-2"


def test_many_processes_give_the_same_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies replayed beside one another have the figures they have alone."""
    monkeypatch.setattr(backtest, "_WORTH_A_PROCESS", 0)
    load = loops(20, 10, 4_000)
    fleet = Fleet((Pool(concurrency=4, usd_per_replica_hour=Decimal(4)),))
    case = Case(load, fleet, look(load, fleet, 3))
    blocks = [NamedBlocks.model_validate(one) for one in ({"fixed": {"replicas": 3}}, {"keda": {}})]

    assert run_backtest(case, blocks, processes=2) == run_backtest(case, blocks)


def test_a_percentile_needs_enough_values() -> None:
    """p95 is told from 20 values on, p99 from 100; one that never ended has no number."""
    assert percentiles([1.0] * 19) == (1.0, None, None)
    assert percentiles([float(n) for n in range(1, 101)]) == (50, 95, 99)
    assert percentiles([1.0] * 90 + [float("inf")] * 10) == (1.0, None, None)


def test_the_command_answers_over_http_in_every_format(tmp_path: Path) -> None:
    """Table, JSON and HTML of a running warehouse; progress goes to standard error alone."""
    settings = own(tmp_path / "d")
    policy = tmp_path / "policy.yaml"
    policy.write_text("keda: {cooldown_s: 60}\nfleet: {cold_start: {p50_s: 20}}\n", encoding="utf-8")
    config = tmp_path / "taximeter.yaml"
    config.write_text("deployments: [{name: own, models: [own], concurrency: 1}]\n", encoding="utf-8")
    with store(tmp_path / "d", settings) as warehouse, serve(recorded(warehouse, task())) as url:
        asked = ["plan", "backtest", "--policy", str(policy), "--url", url, "--config", str(config)]
        answers = {
            kind: CliRunner().invoke(app, [*asked, "--format", kind]) for kind in ("table", "json", "html")
        }
        bills = CliRunner().invoke(
            app, ["plan", "billing", "--url", url, "--config", str(config), "-f", "json"]
        )
        loads = CliRunner().invoke(
            app, ["plan", "workload", "--url", url, "--config", str(config), "-f", "json"]
        )

    assert {answer.exit_code for answer in answers.values()} == {0}
    rows = json.loads(answers["json"].stdout)
    assert [row["policy"] for row in rows] == ["as recorded", "keda"]
    assert rows[1]["cost_usd"] < rows[0]["cost_usd"] == 36
    assert "replayed keda" in answers["json"].stderr
    page = answers["html"].stdout
    assert page.startswith("<!doctype html>")
    assert "as recorded" in page
    assert "Plotly.newPlot" in page
    assert "<script src" not in page
    assert json.loads(bills.stdout)[0]["bill"] == "hourly, as many as were ever used"
    assert json.loads(loads.stdout)[0]["served_steps"] == 2


def test_the_command_wants_policies_or_all_of_them() -> None:
    """Neither a file nor --all, or both, is an error that says what to write."""
    answer = CliRunner().invoke(app, ["plan", "backtest"])

    assert isinstance(answer.exception, BadInputError)
    assert "--policy FILE" in str(answer.exception)
    with pytest.raises(BadInputError, match="there is no format"):
        desk.backtest(Settings(), Wanted(), [], url=None, output="xml", tell=lambda _: None)
