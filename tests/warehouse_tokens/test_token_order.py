"""The order of arrival decides nothing: blocks, refreshes between them, versions, traces that join late."""

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from token_bench import LATER_NS, look, rows_of

from warehouse.testing import Store, store
from warehouse.testing_rows import Row, agent, in_trace, llm, span, spans, tool

A, B, C = "1" * 32, "2" * 32, "3" * 32
STORY = [
    *in_trace(
        A,
        [
            agent("agent", 0, 20, session_id="s", rollup="sum", input_tokens=9000, output_tokens=90),
            llm("try", 1, 2, parent="agent", status="error"),
            llm("first", 3, 4, parent="agent", tokens=(1000, 100), finish_reason="tool_calls"),
            span("POST 1", 3.1, 3.2, parent="first", role="transport", status="error"),
            span("POST 2", 3.3, 3.9, parent="first", role="transport"),
            tool("task", 5, 9, parent="agent"),
            llm("sub", 6, 7, parent="task", tokens=(300, 10)),
            llm("inner", 6.1, 6.9, parent="sub", tokens=(300, 10), cache_read_tokens=100),
            llm("last", 10, 11, parent="agent", tokens=(1200, 50), finish_reason="stop"),
            # The same span, told again later and better.
            llm("last", 10, 12, parent="agent", tokens=(1200, 60), finish_reason="stop"),
        ],
    ),
    *in_trace(
        B,
        [
            agent("agent", 30, 40, session_id="s", task_links=[A]),
            llm("second task", 31, 32, parent="agent", tokens=(1300, 70), finish_reason="stop"),
        ],
    ),
    *in_trace(
        C,
        [
            agent("agent", 50, 60, session_id="s"),
            llm("third task", 51, 52, parent="agent", tokens=(1500, 80), finish_reason="stop"),
        ],
    ),
]  # fmt: skip
TABLES = ("trace_tasks", "steps", "step_buckets", "task_tokens", "task_buckets", "tasks")


def everything(warehouse: Store) -> dict[str, list[str]]:
    return {table: sorted(map(repr, rows_of(warehouse, table))) for table in TABLES}


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    with store(tmp_path_factory.mktemp("once")) as warehouse:
        warehouse.load(spans(*STORY))
        warehouse.refresh(LATER_NS)
        return everything(warehouse)


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("order")) as warehouse:
        yield warehouse


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), blocks=st.integers(2, 3))
def test_the_order_of_arrival_changes_no_figure(
    at_once: dict[str, list[str]], emptied: Store, seed: int, blocks: int
) -> None:
    """Any order, split over blocks with a refresh after each, ends in the very rows of one block."""
    for table in ("spans", "dirty_traces", *TABLES):
        emptied.connection.execute(f"delete from {table}")  # noqa: S608 - the names above
    shuffled = random.Random(seed).sample(STORY, len(STORY))
    for number in range(blocks):
        emptied.load(spans(*shuffled[number::blocks]))
        emptied.refresh(LATER_NS)

    assert everything(emptied) == at_once


def test_linked_traces_are_one_task_named_after_the_first(at_once: dict[str, list[str]]) -> None:
    """A span link joins two traces into one task; a session alone joins none."""
    assert [("task_id': '" + A) in row for row in at_once["tasks"]] == [True, False]
    assert any(f"'trace_ids': ['{A}', '{B}']" in row for row in at_once["tasks"])


def test_the_latest_version_of_a_span_counts_once(tmp_path: Path) -> None:
    """Of two versions of a span the one that ended later counts; a replayed block counts once."""
    rows = [row for row in STORY if row["trace_id"] == A]
    seen = look(tmp_path, {"twice": [*rows, *rows]})

    assert seen.steps["twice"]["last"]["output_tokens"] == 60
    assert seen.figures("twice", "total_tokens") == (1100 + 310 + 1260,)


def test_the_same_ids_with_another_start_are_another_try(tmp_path: Path) -> None:
    """A retry that reuses its span id is kept beside the first, and both point at the same parent."""
    rows = [
        agent("agent", 0, 9),
        llm("call", 1, 2, parent="agent", status="error"),
        llm("call", 3, 4, parent="agent", tokens=(10, 1)),
    ]
    seen = look(tmp_path, {"case": rows})

    assert seen.figures("case", "llm_calls", "llm_attempts", "total_tokens") == (1, 2, 11)


def joined(tmp_path: Path, rows: Sequence[Row]) -> list[tuple[str, int]]:
    with store(tmp_path) as warehouse:
        warehouse.load(spans(*rows))
        warehouse.refresh(LATER_NS)
        return [
            (row["task_id"], len(row["trace_ids"]))
            for row in sorted(rows_of(warehouse, "tasks"), key=lambda row: row["start_ns"])
        ]


def test_traces_with_one_task_key_are_one_task_of_one_tenant(tmp_path: Path) -> None:
    """Equal task keys join traces of the same dialect and tenant, and never another tenant's."""
    call = llm("call", 1, 2, tokens=(1, 1), task_key="prompt")
    rows = [
        {**call, "trace_id": A},
        {**call, "trace_id": B, "start_ns": call["start_ns"] + 1},
        {**call, "trace_id": C, "start_ns": call["start_ns"] + 2, "tenant": "other"},
        {**call, "trace_id": "4" * 32, "start_ns": call["start_ns"] + 3, "dialect": "claude_code"},
    ]

    assert joined(tmp_path, rows) == [(A, 2), (C, 1), ("4" * 32, 1)]


def test_a_chain_of_links_is_one_task_even_through_a_trace_that_never_came(tmp_path: Path) -> None:
    """Two traces that link to a third belong together before, without and after it."""
    call = llm("call", 1, 2, tokens=(1, 1), task_links=["9" * 32])
    rows = [{**call, "trace_id": A}, {**call, "trace_id": B, "start_ns": call["start_ns"] + 1}]

    assert joined(tmp_path, rows) == [(A, 2)]


def test_a_task_is_open_until_its_root_came_or_it_timed_out(tmp_path: Path) -> None:
    """Without a root a task is open and provisional; after the timeout it is interrupted, its cost kept."""
    call = llm("call", 1, 2, parent="agent", tokens=(10, 1))
    with store(tmp_path) as warehouse:
        warehouse.load(spans(call))
        warehouse.refresh(call["end_ns"] + 1)
        assert warehouse.sql("select status, provisional, total_tokens from tasks") == [("open", True, 11)]

        warehouse.refresh(call["end_ns"] + 1_800 * 10**9)
        assert warehouse.sql("select status, provisional, total_tokens from tasks") == [
            ("interrupted", False, 11)
        ]

        warehouse.load(spans(agent("agent", 0, 9)))
        warehouse.refresh(LATER_NS)
        assert warehouse.sql("select status, provisional, total_tokens from tasks") == [("ok", False, 11)]


def test_a_proxy_that_passes_no_context_on_makes_no_second_task(tmp_path: Path) -> None:
    """One answer shown in two traces at one time is one call of one task, whichever trace comes first."""
    answer = {"tokens": (1000, 50), "response_id": "chatcmpl-0123456789abcdef"}
    client = in_trace(A, [agent("agent", 0, 9), llm("app", 1, 4, parent="agent", **answer)])
    proxy = in_trace(
        B,
        [
            llm(
                "proxy",
                1.5,
                3.5,
                role="gateway",
                provider="azure",
                reported_cost_usd=Decimal("0.5"),
                **answer,
            )
        ],
    )
    for number, blocks in enumerate(((client, proxy), (proxy, client), ([*client, *proxy],))):
        with store(tmp_path / str(number)) as warehouse:
            for rows in blocks:
                warehouse.load(spans(*rows))
                warehouse.refresh(LATER_NS)

            (task,) = rows_of(warehouse, "tasks")
            assert (task["task_id"], task["llm_calls"], task["llm_attempts"], task["total_tokens"]) == (
                A,
                1,
                1,
                1050,
            )
            assert task["reported_cost_usd"] == Decimal("0.5")
            assert warehouse.check_laws() == []


@pytest.mark.parametrize(
    ("told", "start_s"),
    [
        ({"tokens": (1000, 50), "response_id": "chatcmpl-0123456789abcdef"}, 5),
        ({"tokens": (1000, 50), "response_id": "chatcmpl-017"}, 1),
        ({"tokens": (900, 50), "response_id": "chatcmpl-0123456789abcdef"}, 1),
        ({"tokens": (1000, 50), "response_id": "chatcmpl-0123456789abcdef", "tenant": "other"}, 1),
    ],
    ids=["at another time", "an id that is drawn again", "of another prompt", "of another tenant"],
)
def test_equal_answer_ids_alone_join_nothing(tmp_path: Path, told: Row, start_s: float) -> None:
    """A cached answer, a short id, another prompt or another tenant's call stays a task of its own."""
    own = {"tokens": (1000, 50), "response_id": told["response_id"]}
    rows = [
        *in_trace(A, [llm("call", 1, 4, **own)]),
        *in_trace(B, [llm("other", start_s, start_s + 3, **told)]),
    ]

    assert sorted(joined(tmp_path, rows)) == [(A, 1), (B, 1)]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_senders_that_repeat_batch_and_rename_multiply_nothing(emptied: Store, seed: int) -> None:
    """A second exporter, a retry or a collector that renames the service adds no token, call or task."""
    for table in ("spans", "dirty_traces", *TABLES):
        emptied.connection.execute(f"delete from {table}")  # noqa: S608 - the names above
    chance = random.Random(seed)
    copies = [
        {
            **row,
            "service_name": "renamed",
            "host": "gateway",
            "row_hash": "f" * 32,
            "filled": chance.randint(1, 40),
        }
        for row in chance.sample(STORY, chance.randint(1, len(STORY)))
    ]
    shuffled = chance.sample([*STORY, *copies], len(STORY) + len(copies))
    for number in range(2):
        emptied.load(spans(*shuffled[number::2]))
        emptied.refresh(LATER_NS)

    totals = "select llm_calls, llm_attempts, tool_calls, total_tokens from tasks order by start_ns"
    assert emptied.sql(totals) == [(4, 5, 1, 4040), (1, 1, 0, 1580)]
