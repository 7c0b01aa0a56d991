"""Costing calls anew: as the warehouse costs them, and never more tokens or money than there were."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.advice.calls import cost, read_calls, recost, total, without
from planner.advice.rules import match
from planner.advice.testing import RATES, call
from taximeter.clock import NS_PER_S
from warehouse.testing import store
from warehouse.testing_rows import START_NS, agent, llm, spans


def test_a_call_costed_anew_without_a_change_costs_what_the_warehouse_says(tmp_path: Path) -> None:
    """Cache reads, writes and their rates come through the report: the same tokens give the same money."""
    made = {"provider": "anthropic", "model_requested": "claude-sonnet-4-5", "parent": "root"}
    with store(tmp_path) as warehouse:
        warehouse.load(
            spans(
                agent("root", 0, 60),
                llm("a", 1, 5, tokens=(9_137, 411), cache_write_tokens=7_001, **made),
                llm("b", 6, 9, tokens=(9_911, 77), cache_read_tokens=7_001, cache_write_tokens=1_313, **made),
                llm("c", 10, 12, tokens=(123, 7), parent="root", provider="openai"),
                llm("d", 13, 14, tokens=(123, 7), parent="root", model_requested="no-such-model"),
            )
        )
        warehouse.refresh(START_NS + 86_400 * NS_PER_S)
        calls = read_calls(warehouse.report("recommendations_calls"))

    assert len(calls) == 4
    assert [cost(one) for one in calls] == [one.cost_usd for one in calls]
    assert [one.cost_usd is None for one in calls] == [False, False, False, True]
    assert (calls[0].write, calls[1].read, calls[0].task_status, calls[0].failed_before) == (
        7_001,
        7_001,
        "ok",
        False,
    )


def test_what_is_taken_out_of_a_prompt_takes_its_own_part_of_the_cache_along() -> None:
    """Of 1,000 tokens 600 were read and 300 written: without the first 700 there are 200 written."""
    one = recost(call(1), read=600, write=300)

    left = without(one, 0, 700)

    assert (left.input, left.read, left.write) == (300, 0, 200)
    assert one.cost_usd is not None
    assert left.cost_usd is not None
    assert one.cost_usd - left.cost_usd == 600 * RATES.cache_read + 100 * RATES.cache_write  # type: ignore[operator]


@given(
    size=st.integers(0, 5_000),
    read=st.integers(0, 5_000),
    write=st.integers(0, 5_000),
    begin=st.integers(0, 5_000),
    length=st.integers(0, 5_000),
)
def test_taking_tokens_out_never_makes_a_call_dearer(
    size: int, read: int, write: int, begin: int, length: int
) -> None:
    """Whatever is cut: tokens and money stay at or above zero and at or below what they were."""
    read = min(read, size)
    write = min(write, size - read)
    begin = min(begin, size)
    end = min(begin + length, size)
    one = recost(call(1), input=size, read=read, write=write)

    left = without(one, begin, end)

    assert left.input == size - (end - begin)
    assert 0 <= (left.read or 0) + (left.write or 0) <= (left.input or 0)
    assert Decimal(0) <= total([left]) <= total([one])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("IntentClassifier", "routing"),
        ("route_request", "routing"),
        ("extract-entities", "extraction"),
        ("JSON formatter", "formatting"),
        ("coder", None),
        ("proctitle", None),
        (None, None),
    ],
)
def test_a_name_says_that_a_step_is_narrow_by_the_beginning_of_its_parts(
    name: str | None, said: str | None
) -> None:
    """Camel case, dashes and underscores part a name; a word inside a part says nothing."""
    found = match("narrow", name)

    assert (found[0] if found else None) == said
