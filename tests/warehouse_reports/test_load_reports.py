"""Turns, steps, bills and outcomes of small loads whose figures can be worked out by hand."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Deployment, Gpus, Hold, Settings
from warehouse.rows import SAMPLES
from warehouse.testing import store
from warehouse.testing_rows import START_NS, Row, agent, in_trace, llm, spans, tool

LATER_NS = START_NS + 86_400 * NS_PER_S
# A whole hour, so that hours and minutes are counted from it.
ZERO_S = 3_600 - START_NS // NS_PER_S % 3_600


def own(count: int = 1, hours: int = 4, usd: int | None = 36) -> Settings:
    """Make settings with a deployment of cards held for some hours from a whole hour on."""
    start_ns = START_NS + ZERO_S * NS_PER_S
    held = Hold.model_validate(
        {"from": to_datetime(start_ns), "to": to_datetime(start_ns + hours * 3_600 * NS_PER_S)}
    )
    price = None if usd is None else Decimal(usd)
    gpus = Gpus(sku="CARD", count=count, usd_per_gpu_hour=price, price_source="contract", held=[held])
    return Settings(deployments=[Deployment(name="own", models=["own"], gpus=gpus, concurrency=1)])


def look(
    path: Path, traces: list[list[Row]], name: str, settings: Settings | None = None, **asked: Any
) -> list[Row]:
    with store(path, settings) as warehouse:
        for number, rows in enumerate(traces, start=1):
            warehouse.load(spans(*in_trace(f"{number:032x}", rows)))
        warehouse.refresh(LATER_NS)
        return warehouse.report(name, **asked).to_pylist()


def served(start_s: float, end_s: float) -> list[Row]:
    return [llm("chat", ZERO_S + start_s, ZERO_S + end_s, tokens=(10, 1), model_requested="own")]


def test_the_same_load_under_every_bill(tmp_path: Path) -> None:
    """A card at $36 an hour is needed from 0 to 90 s, 100 to 130 s and 2 h to 2 h 10 s, and held for 4 h."""
    load = [served(0, 90), served(100, 130), served(7_200, 7_210)]
    rows = look(tmp_path / "d", load, "billing", own(), keep_warm_s=20, cold_start_s=5.0, minimum_s=60)
    found = {row["plan"]: (row["billed_gpu_s"], row["cost_usd"], row["cold_starts"]) for row in rows}

    assert found == {
        "as_held": (14_400, 144, 0),
        "reserved": (14_400, 144, 0),
        "hourly": (7_200, 72, 0),
        "per_minute": (4 * 60, Decimal("2.4"), 0),
        "per_second": ((130 + 25) + 60, Decimal("2.15"), 2),
    }
    assert {(row["needed_gpu_s"], row["coverage_ratio"]) for row in rows} == {(130, 1)}
    assert {row["added_wait_s"] for row in rows if row["plan"] == "per_second"} == {10}


def test_a_reserved_bill_is_less_its_discount_and_an_unneeded_card_costs_only_where_it_is_held(
    tmp_path: Path,
) -> None:
    """Two cards nobody uses: 4 hours reserved at a fifth less, nothing where they are let go."""
    rows = look(tmp_path / "d", [served(-99, -98)], "billing", own(2), reserved_discount_ratio=0.2)

    assert {row["plan"]: row["cost_usd"] for row in rows} == {
        "as_held": 288,
        "reserved": Decimal("230.4"),
        "hourly": 0,
        "per_minute": 0,
        "per_second": 0,
    }


def test_a_card_without_a_price_has_no_bill(tmp_path: Path) -> None:
    """Seconds are told, dollars are unknown."""
    rows = look(tmp_path / "d", [served(0, 90)], "billing", own(usd=None))
    found = {row["plan"]: (row["billed_gpu_s"], row["cost_usd"]) for row in rows}

    assert (found["as_held"], found["per_minute"]) == ((14_400, None), (120, None))


def test_a_turn_is_taken_apart(tmp_path: Path) -> None:
    """20 s: two calls of 6 s (1 s queue, 2 s to the first token), a tool of 5 s and 3 s of nothing."""
    call = {"queue_ns": 1 * NS_PER_S, "ttft_ns": 3 * NS_PER_S, "parent": "agent", "tokens": (10, 1)}
    rows = [
        agent("agent", 0, 20, task_type="fix"),
        llm("one", 0, 6, asked_tool=True, **call),
        tool("search", 7, 12, parent="agent"),
        llm("two", 14, 20, **call),
    ]
    (turn,) = look(tmp_path / "d", [rows], "turn_budget")

    assert (turn["task_type"], turn["tasks"], turn["turn_p50_s"], turn["rounds_p50"]) == ("fix", 1, 20, 2)
    assert (turn["round_p50_s"], turn["budget_p50_s"]) == (10, 20)
    assert (turn["queue_per_call_s"], turn["ttft_per_call_s"], turn["decode_per_call_s"]) == (1, 2, 3)
    assert (turn["call_per_round_s"], turn["tool_per_round_s"], turn["between_per_round_s"]) == (6, 2.5, 1.5)
    assert (turn["calls_timed_ratio"], turn["ttft_known_ratio"]) == (1, 1)


def test_a_call_that_tells_no_first_token_is_in_no_mean_of_it(tmp_path: Path) -> None:
    """Half of the calls tell it: the means are of those, and the share says so."""
    rows = [
        agent("agent", 0, 9),
        llm("one", 0, 4, ttft_ns=NS_PER_S, parent="agent", tokens=(10, 1)),
        llm("two", 4, 8, parent="agent", tokens=(10, 1)),
    ]
    (turn,) = look(tmp_path / "d", [rows], "turn_budget")

    assert (turn["ttft_per_call_s"], turn["decode_per_call_s"], turn["ttft_known_ratio"]) == (1, 3, 0.5)
    assert (turn["queue_per_call_s"], turn["queue_known_ratio"]) == (None, 0)


def test_a_steps_profile_has_the_memory_that_was_held(tmp_path: Path) -> None:
    """Two calls of one step: their medians, and what processes held on the card when they ended."""
    memory = [
        {
            "tenant": "default", "host": "box", "gpu_uuid": "GPU-1", "bus_id": "1", "gpu_name": "X",
            "source": "nvml", "metric": metric, "pid": pid, "t_ns": START_NS + (ZERO_S + second) * NS_PER_S,
            "value": value, "simulated": False,
        }
        for second in range(0, 30, 5)
        for metric, pid, value in (
            ("util_ratio", None, 0.5),
            ("process_memory_mib", 7, 1_000.0 + second),
            ("process_memory_mib", 8, 500.0),
        )
    ]  # fmt: skip
    gpus = Gpus(sku="CARD", count=1, uuids=["GPU-1"], usd_per_gpu_hour=Decimal(1))
    settings = Settings(deployments=[Deployment(name="own", models=["own"], gpus=gpus)])
    with store(tmp_path / "d", settings) as warehouse:
        warehouse.load({"samples": pa.Table.from_pylist(memory, schema=SAMPLES)})
        for number, (start_s, end_s) in enumerate(((0, 10), (12, 20)), start=1):
            call = llm(
                "chat",
                ZERO_S + start_s,
                ZERO_S + end_s,
                tokens=(10, 1),
                model_requested="own",
                agent_name="a",
            )
            warehouse.load(spans(*in_trace(f"{number:032x}", [call])))
        warehouse.refresh(LATER_NS)
        (profile,) = warehouse.report("step_profile").to_pylist()

    assert (profile["agent"], profile["step"], profile["deployment"], profile["steps"]) == (
        "a",
        "chat",
        "own",
        2,
    )
    assert (profile["duration_p50_s"], profile["input_tokens_p95"], profile["ttft_p50_s"]) == (9, 10, None)
    assert profile["memory_p50_mib"] == pytest.approx((1_510 + 1_520) / 2)
    assert profile["memory_shared"] is False


def test_failures_are_charged_to_successes(tmp_path: Path) -> None:
    """Of four equal tasks one failed and one is told a failure: the two others cost twice as much."""

    def task(outcome: str | None, status: str = "unset") -> list[Row]:
        call = llm(
            "chat", 1, 2, parent="agent", tokens=(1_000_000, 0), model_requested="gpt-4o", provider="openai"
        )
        return [agent("agent", 0, 9, status=status, task_type="fix", outcome=outcome), call]

    rows = look(
        tmp_path / "d",
        [task(None), task(None, "error"), task("success", "error"), task("failure")],
        "outcomes",
    )
    found = {row["signal"]: row for row in rows}

    status, said = found["status"], found["said"]
    assert (status["tasks"], status["successes"], status["failures"]) == (2, 1, 1)
    assert (said["tasks"], said["successes"], said["failures"]) == (2, 1, 1)
    assert (status["cost_usd"], status["failed_cost_usd"], status["cost_per_success_usd"]) == (
        5,
        Decimal("2.5"),
        5,
    )


def test_a_task_whose_call_tells_no_length_has_none(tmp_path: Path) -> None:
    """A request log without durations gives tasks of unknown length, not of none."""
    call = llm("chat", 5, 5, tokens=(10, 1), flags=["untimed"])
    with store(tmp_path / "d") as warehouse:
        warehouse.load(spans(*in_trace("1" * 32, [call])))
        warehouse.refresh(LATER_NS)
        (task,) = warehouse.report("tasks").to_pylist()
        (profile,) = warehouse.report("load_profile").to_pylist()

        assert (task["total_tokens"], task["duration_s"], profile["duration_p50_s"]) == (11, None, None)
        assert warehouse.report("turn_budget").num_rows == 0
