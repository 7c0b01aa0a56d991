"""The laws of tokens: they hold, and each turns red when what it guards is broken."""

from collections.abc import Iterator

import pytest
from duckdb import DuckDBPyConnection
from token_bench import LATER_NS, load

from warehouse.laws import check_laws
from warehouse.testing import Store, store
from warehouse.testing_rows import agent, llm, tool

TASK = [
    agent("agent", 0, 9),
    llm("first", 1, 2, parent="agent", tokens=(1000, 100), reasoning_tokens=60, finish_reason="tool_calls"),
    tool("t", 2.5, 2.9, parent="agent"),
    llm("second", 3, 4, parent="agent", tokens=(1500, 50), cache_read_tokens=900, finish_reason="stop"),
]
ALONE = [llm("only", 1, 2, tokens=(10, 1), finish_reason="stop")]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("laws")) as opened:
        load(opened, {"task": TASK, "alone": ALONE})
        opened.refresh(LATER_NS)
        yield opened


@pytest.fixture
def cursor(warehouse: Store) -> Iterator[DuckDBPyConnection]:
    """A cursor whose changes are taken back."""
    with warehouse.connection.cursor() as opened:
        opened.begin()
        yield opened
        opened.rollback()


def broken(cursor: DuckDBPyConnection) -> set[str]:
    return {law for law, rows in check_laws(cursor).items() if rows.num_rows and law.startswith("token_")}


def test_nothing_is_broken_at_first(cursor: DuckDBPyConnection) -> None:
    """All laws hold on what the models made."""
    assert broken(cursor) == set()


@pytest.mark.parametrize(
    ("mutation", "law"),
    [
        ("delete from step_buckets where bucket = 'reasoning'", "token_buckets_sum_to_steps"),
        ("insert into step_buckets from step_buckets where bucket = 'answer'", "token_buckets_sum_to_steps"),
        (
            "update step_buckets set token_cost_usd = token_cost_usd + 1e-12::decimal(38, 12)",
            "token_buckets_sum_to_steps",
        ),
        ("update steps set counted = false where name = 'second'", "token_buckets_have_steps"),
        ("insert into steps from steps where name = 'first'", "token_tasks_sum_their_steps"),
        ("insert into steps from steps where name = 't'", "token_tasks_sum_their_steps"),
        ("update tasks set token_cost_usd = token_cost_usd * 2", "token_tasks_sum_their_steps"),
        (
            "update task_buckets set tokens = tokens - 1 where bucket = 'fresh_later'",
            "token_buckets_sum_to_tasks",
        ),
        ("update task_buckets set cost_usd = null where bucket = 'answer'", "token_buckets_sum_to_tasks"),
        ("update tasks set total_cost_usd = total_cost_usd + 1", "token_buckets_sum_to_tasks"),
        ("update tasks set token_multiplier = token_multiplier * 1.001", "token_multipliers_are_ratios"),
        ("update tasks set cost_multiplier = cost_multiplier * 1.001", "token_multipliers_are_ratios"),
        ("update tasks set token_multiplier = 1.1 where steps = 1", "token_multipliers_are_ratios"),
        ("insert into trace_tasks from trace_tasks limit 1", "token_spans_are_in_one_task"),
        ("delete from trace_tasks", "token_spans_are_in_one_task"),
    ],
)
def test_a_law_turns_red(cursor: DuckDBPyConnection, mutation: str, law: str) -> None:
    """A dropped, doubled or shifted figure breaks the law that guards it."""
    cursor.execute(mutation)

    assert law in broken(cursor)
