"""What the reports of tasks and tokens show, and that groups and zones never change a total."""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal

import pytest
from token_bench import LATER_NS, load, trace_of

from taximeter.clock import NS_PER_S
from taximeter.errors import BadInputError
from warehouse.testing import Store, store
from warehouse.testing_rows import START_NS, Row, agent, llm, tool

DAY_S = 86_400
CASES: Mapping[str, list[Row]] = {
    "long": [
        agent("agent", 0, 90, task_type="fix", session_id="s"),
        llm("try", 1, 2, parent="agent", status="error", input_tokens=50, output_tokens=5, error_type="429"),
        llm(
            "first", 3, 4, parent="agent", tokens=(1000, 100), reasoning_tokens=60, finish_reason="tool_calls"
        ),
        tool("a 1", 5, 6, parent="agent", tool_name="a", args_hash="1", result_hash="1", args_bytes=5),
        llm("second", 7, 8, parent="agent", tokens=(1500, 50), finish_reason="tool_calls"),
        tool("a 2", 9, 10, parent="agent", tool_name="a", args_hash="1", result_hash="1", args_bytes=5),
        llm("third", 11, 12, parent="agent", tokens=(1900, 80), cache_read_tokens=900, finish_reason="stop"),
        llm("third inside", 11.1, 11.9, parent="third", tokens=(1900, 80)),
    ],
    "other day": [
        agent("other", DAY_S, DAY_S + 9, task_type="ask"),
        llm("only", DAY_S + 1, DAY_S + 2, parent="other", tokens=(100, 10), finish_reason="stop"),
    ],
    "no answer": [
        agent("other", 50, 60, task_type="ask"),
        llm("only", 51, 52, parent="other", tokens=(100, 10), finish_reason="length"),
    ],
    "unpriced": [llm("call", 70, 71, tokens=(7, 3), model_requested="house-model", finish_reason="stop")],
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("reports")) as opened:
        load(opened, CASES)
        opened.refresh(LATER_NS + DAY_S * NS_PER_S)
        yield opened


def rows(warehouse: Store, name: str, **params: str | int) -> list[Row]:
    found: list[Row] = warehouse.report(name, **params).to_pylist()
    return found


def test_tasks_are_those_that_started_in_the_range(warehouse: Store) -> None:
    """A task belongs to the range that holds its start, and only to that."""
    border_ns = START_NS + DAY_S * NS_PER_S
    early = rows(warehouse, "tasks", until=border_ns)
    late = rows(warehouse, "tasks", since=border_ns)

    assert [row["task_id"] for row in late] == [trace_of("other day")]
    assert {row["task_id"] for row in early + late} == {trace_of(case) for case in CASES}


def test_steps_of_a_task_sum_to_it(warehouse: Store) -> None:
    """The counted rows of a task's steps hold its tokens and its cost."""
    (task,) = [row for row in rows(warehouse, "tasks") if row["task_id"] == trace_of("long")]
    steps = [row for row in rows(warehouse, "task_steps", task_id=trace_of("long")) if row["counted"]]

    assert (
        sum((row["input_tokens"] or 0) + (row["output_tokens"] or 0) for row in steps) == task["total_tokens"]
    )
    assert sum(row["cost_usd"] for row in steps) == task["total_cost_usd"]


def test_slack_is_the_time_until_the_next_step(warehouse: Store) -> None:
    """A step that ended a second before the next one started could have ended that much later."""
    slack = {row["name"]: row["slack_s"] for row in rows(warehouse, "task_steps", task_id=trace_of("long"))}

    assert (slack["first"], slack["a 1"], slack["third"]) == (1.0, 1.0, None)


@pytest.mark.parametrize(
    "group_by", ["all", "task", "agent", "task_type", "tenant", "session", "model", "day"]
)
def test_factors_multiply_to_the_multiplier(warehouse: Store, group_by: str) -> None:
    """In every group the factors' product is total over single pass, in money and in tokens."""
    found = rows(warehouse, "multipliers", group_by=group_by)

    for key in {row["group_key"] for row in found}:
        group = [row for row in found if row["group_key"] == key]
        single = [row for row in group if row["bucket"] in ("first_prompt", "answer")]
        for factor, amount in (("token_factor_ratio", "tokens"), ("factor_ratio", "cost_usd")):
            if any(row[amount] is None for row in group):
                continue
            product = math.prod(row[factor] for row in group if row not in single)
            ratio = sum(row[amount] for row in group) / sum(row[amount] for row in single)
            assert product == pytest.approx(float(ratio))


def test_a_tasks_factors_are_its_multiplier(warehouse: Store) -> None:
    """For one task the product is the very multiplier that the list of tasks shows."""
    (task,) = [row for row in rows(warehouse, "tasks") if row["task_id"] == trace_of("long")]
    found = rows(warehouse, "multipliers", group_by="task", task_id=trace_of("long"))

    assert math.prod(row["factor_ratio"] or 1 for row in found) == pytest.approx(task["cost_multiplier"])
    assert math.prod(row["token_factor_ratio"] or 1 for row in found) == pytest.approx(
        task["token_multiplier"]
    )


def test_tasks_without_a_multiplier_are_left_out_and_counted(warehouse: Store) -> None:
    """A task without an answer is in no factor; the report counts them, `no_answer` says which and why."""
    assert rows(warehouse, "multipliers")[0]["tasks_left_out"] == 1
    assert [(row["task_id"], row["reason"]) for row in rows(warehouse, "no_answer")] == [
        (trace_of("no answer"), "the last answer was cut")
    ]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/Los_Angeles"])
@pytest.mark.parametrize(
    "group_by", ["all", "model", "provider", "deployment", "task", "agent", "task_type", "tenant", "session"]
)
def test_days_and_groups_sum_to_the_same_spend(warehouse: Store, zone: str, group_by: str) -> None:
    """Neither the zone that days are cut in nor the grouping changes what was spent."""
    found = rows(warehouse, "spend", zone=zone, group_by=group_by)
    known = warehouse.sql("select sum(token_cost_usd) from steps where counted")[0][0]

    assert sum(row["total_cost_usd"] or Decimal(0) for row in found) == known
    assert sum(row["unknown_costs"] for row in found) == 1


@pytest.mark.parametrize("name", ["spend", "multipliers"])
def test_an_unknown_grouping_is_refused(warehouse: Store, name: str) -> None:
    """A grouping that does not exist is an error and no empty answer."""
    with pytest.raises(BadInputError, match="group_by is one of"):
        rows(warehouse, name, group_by="moon")


def test_a_model_without_a_price_is_listed(warehouse: Store) -> None:
    """What nobody could price is shown with its tokens."""
    (row,) = rows(warehouse, "unpriced")

    assert (row["model"], row["tokens"], row["tasks"]) == ("house-model", 10, 1)


def test_the_load_profile_counts_calls_and_rounds(warehouse: Store) -> None:
    """Calls, rounds and tokens per round of each task type."""
    (row,) = [row for row in rows(warehouse, "load_profile") if row["task_type"] == "fix"]

    assert (row["tasks"], row["calls_p50"], row["rounds_max"], row["peak_concurrency"]) == (1, 3, 3, 1)
    assert row["tokens_per_round"] == pytest.approx((55 + 1100 + 1550 + 1980) / 3)


def test_retries_show_what_was_thrown_away(warehouse: Store) -> None:
    """A call that was tried twice shows the tokens and money of the try that failed."""
    (row,) = rows(warehouse, "retries")

    assert (row["attempts"], row["wasted_tokens"], row["error_types"]) == (2, 55, ["429"])
    assert row["wasted_usd"] == 50 * Decimal("2.5e-6") + 5 * Decimal("10e-6")


def test_loops_and_duplicates_are_found(warehouse: Store) -> None:
    """A proved repeat is a counted loop with its round's tokens, and a duplicate for a cache."""
    (loop,) = [row for row in rows(warehouse, "loops") if row["is_counted"]]
    (duplicate,) = rows(warehouse, "duplicate_tools")

    assert (loop["tool_name"], loop["calls"], loop["round_tokens"], loop["payload_bytes"]) == (
        "a",
        1,
        1550,
        5,
    )
    assert (duplicate["calls"], duplicate["extra_calls"], duplicate["extra_work_s"]) == (2, 1, 1.0)


def test_context_growth_follows_a_thread(warehouse: Store) -> None:
    """A thread shows how its prompt grew and how much of it was sent again."""
    (row,) = rows(warehouse, "context_growth")

    assert (row["first_input_tokens"], row["last_input_tokens"], row["resent_tokens"]) == (1000, 1900, 1550)


def test_tokens_that_were_left_out_are_shown(warehouse: Store) -> None:
    """The second view of a call shows the tokens that a plain sum would have added."""
    (row,) = rows(warehouse, "double_counts")

    assert (row["tokens"], row["is_corrected"]) == (1980, True)
