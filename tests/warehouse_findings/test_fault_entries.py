"""Further entries of the fault list: a fixture of its kind for those outside the table of numbers."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from findings_bench import COST, GPT, IN, OUT, Case, Seen, agent, case, chat, look, tool

from collector.dialects.read import dialects
from taximeter.explain_text import write_tasks

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MICRO = Decimal("0.000001")
SUM = {IN: 113, OUT: 11}
TWO_CALLS = (chat(2, 1, {IN: 56, OUT: 5}), chat(3, 3, {IN: 57, OUT: 6}))
RESPONSES_CACHED = "gen_ai.usage.input_tokens_details.cached_tokens"
COSTS = ("0.5", 0.5, 1)
QUESTION = {"gen_ai.input.messages": '[{"role":"user","content":"hi"}]'}

CASES: Mapping[str, Case] = {
    "wrapper without a model": case(
        agent(1, 0, {"gen_ai.operation.name": "invoke_workflow", **SUM}), *TWO_CALLS
    ),
    "cost of a run": case(agent(1, 0, {**SUM, COST: 0.5}), *TWO_CALLS),
    "another name of the cache": case(
        chat(1, 0, {**GPT, IN: 1_000, OUT: 0, RESPONSES_CACHED: 400}, parent=None)
    ),
    "cost as text, real and whole": case(
        agent(), *(chat(place, place, {IN: 1, OUT: 1, COST: cost}) for place, cost in enumerate(COSTS, 2))
    ),
    "free answer with a cost": case(chat(1, 0, {IN: 0, OUT: 0, COST: 0.01}, parent=None)),
    "nothing told": case(chat(1, 0, parent=None)),
    "cut short": case(chat(1, 0, {IN: 500, OUT: 20, "error.type": "cancelled"}, parent=None, status="error")),
    "fallback": case(
        agent(),
        chat(2, 2, {**GPT, **QUESTION, IN: 100, OUT: 10}, status="error"),
        chat(3, 4, {**QUESTION, IN: 100, OUT: 10}),
    ),
    "one id, two tries": case(
        agent(), chat(2, 2, {"error.type": "503"}, status="error"), chat(2, 4, {IN: 10, OUT: 1})
    ),
    "two agents": case(
        agent(1, 0, {"gen_ai.agent.name": "planner"}),
        chat(2, 1, {IN: 100, OUT: 10, "gen_ai.agent.name": "planner"}),
        agent(3, 3, {"gen_ai.agent.name": "searcher"}, parent=1, took_s=9),
        chat(4, 4, {IN: 1_000, OUT: 20}, parent=3),
    ),
    "growing": case(
        agent(),
        *(chat(2 + n, 2 + 2 * n, {IN: 1_000 * (n + 1), OUT: 10}) for n in range(3)),
    ),
    "same lookup twice": case(
        agent(),
        chat(2, 2, {IN: 100, OUT: 10}),
        tool(3, 4, "look", '{"q": 1}', "a"),
        chat(4, 6, {IN: 200, OUT: 10}),
        tool(5, 8, "look", '{"q": 1}', "b"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with look(tmp_path_factory.mktemp("entries"), CASES) as found:
        yield found


@pytest.mark.fault(7)
def test_tokens_and_money_stop_at_the_same_spans(seen: Seen) -> None:
    """A wrapper that names no model takes neither the tokens nor the money of its calls."""
    task = seen.task("wrapper without a model")
    spans = seen.explained("wrapper without a model")

    assert (task["total_tokens"], task["token_cost_usd"]) == (124, 504 * MICRO)
    assert [spans[number]["verdict"] for number in (1, 2, 3)] == ["repeats_parts", "counted", "counted"]


@pytest.mark.fault(17, 66)
def test_the_cost_that_a_run_reports_is_shown_beside_ours(seen: Seen) -> None:
    """Half a dollar told on the root is in no sum, and stands in cost_drift with the difference to ours."""
    (drift,) = seen.found("cost_drift", "cost of a run")

    assert (drift["told_by"], drift["reported_cost_usd"]) == ("run", Decimal("0.5"))
    assert drift["difference_usd"] == 504 * MICRO - Decimal("0.5")
    assert seen.task("cost of a run")["token_cost_usd"] == 504 * MICRO


@pytest.mark.fault(29)
def test_another_name_of_the_cache_is_the_cache(seen: Seen) -> None:
    """Cached tokens under the name of the Responses API cost what cached tokens cost."""
    span = seen.explained("another name of the cache")[1]

    assert (span["cache_read_tokens"], span["token_cost_usd"]) == (
        400,
        (600 * 5 + 400 * Decimal("2.5")) / 2 * MICRO,
    )


@pytest.mark.fault(50)
def test_a_reported_cost_is_taken_in_every_form(seen: Seen) -> None:
    """Text, a real and a whole number are all dollars."""
    assert seen.task("cost as text, real and whole")["reported_cost_usd"] == 2


@pytest.mark.fault(51, 61)
def test_zero_is_known_and_unknown_is_not_zero(seen: Seen) -> None:
    """No tokens cost nothing whatever is reported; a call that tells none has unknown tokens and cost."""
    free, silent = seen.task("free answer with a cost"), seen.task("nothing told")

    assert (free["total_tokens"], free["token_cost_usd"], free["reported_cost_usd"]) == (
        0,
        0,
        Decimal("0.01"),
    )
    assert (silent["total_tokens"], silent["token_cost_usd"], silent["usage_known_ratio"]) == (None, None, 0)


@pytest.mark.fault(62)
def test_what_an_aborted_call_used_is_kept(seen: Seen) -> None:
    """A call that was cut off after 20 tokens is paid for its prompt and those."""
    task = seen.task("cut short")

    assert (task["total_tokens"], task["token_cost_usd"]) == (520, (500 * 3 + 20 * 15) * MICRO)


@pytest.mark.fault(65)
def test_every_try_is_priced_at_its_own_model(seen: Seen) -> None:
    """A call that fell back to another model costs both at their own prices; retries tells what was lost."""
    (retry,) = seen.found("retries", "fallback")

    assert seen.task("fallback")["llm_calls"] == 1
    assert seen.task("fallback")["token_cost_usd"] == (250 + 100 + 300 + 150) * MICRO
    assert (retry["wasted_tokens"], retry["wasted_usd"]) == (110, 350 * MICRO)


@pytest.mark.fault(77)
def test_two_tries_under_one_span_id_are_both_kept(seen: Seen) -> None:
    """The same span id with another start is another try of the same call."""
    task = seen.task("one id, two tries")

    assert (task["llm_calls"], task["llm_attempts"], task["total_tokens"]) == (1, 2, 11)


@pytest.mark.fault(13, 15, 31)
def test_every_view_of_a_task_has_the_same_total(seen: Seen) -> None:
    """List, steps, spend and the explained spans agree on the money and the tokens of each task."""
    spend = {row["group_key"]: row for row in seen.rows("spend", group_by="task")}
    for name, task_id in seen.traces.items():
        task = seen.task(name)
        steps = [row for row in seen.rows("task_steps", task_id=task_id) if row["counted"]]
        spans = [row for row in seen.rows("explain", task_id=task_id) if row["counted"]]

        for rows in (steps, spans):
            told = [row for row in rows if row["token_cost_usd"] is not None]
            assert sum(row["token_cost_usd"] for row in told) == (task["token_cost_usd"] or 0), name
            used = sum((row["input_tokens"] or 0) + (row["output_tokens"] or 0) for row in rows)
            assert used == (task["total_tokens"] or 0), name
        assert spend[task_id]["token_cost_usd"] == task["token_cost_usd"], name


@pytest.mark.fault(97)
def test_money_of_calls_is_told_by_agent(seen: Seen) -> None:
    """A call belongs to the agent it names, else to the nearest one above it."""
    steps = seen.rows("task_steps", task_id=seen.traces["two agents"])

    assert {row["agent"]: row["token_cost_usd"] for row in steps} == {
        "planner": 450 * MICRO,
        "searcher": 3_300 * MICRO,
    }


def test_a_growing_context_tells_what_was_sent_again(seen: Seen) -> None:
    """First and last prompt, growth per call, and tokens and money of what was sent again."""
    (growth,) = seen.found("context_growth", "growing")

    assert (growth["first_input_tokens"], growth["last_input_tokens"], growth["tokens_per_call"]) == (
        1_000,
        3_000,
        1_000,
    )
    assert (growth["resent_tokens"], growth["resent_cost_usd"]) == (1_010 + 2_010, 3_020 * 3 * MICRO)
    assert len(growth["step_ids"]) == 3


def test_a_duplicate_call_tells_who_asked_for_it(seen: Seen) -> None:
    """A tool asked twice with the same arguments shows both calls and what the second asking cost."""
    (duplicate,) = seen.found("duplicate_tools", "same lookup twice")
    (unproved,) = seen.found("loops", "same lookup twice")

    assert (duplicate["extra_calls"], duplicate["results"], len(duplicate["step_ids"])) == (1, 2, 2)
    assert (duplicate["asking_tokens"], duplicate["asking_cost_usd"]) == (210, 750 * MICRO)
    assert (unproved["form"], unproved["is_counted"], unproved["round_tokens"]) == ("unproved", False, None)


def test_the_parts_of_a_price_are_the_price(seen: Seen) -> None:
    """Tokens times price over the parts that explain shows is the cost of every step that has one."""
    priced = [row for row in seen.rows("explain") if row["parts"] and row["token_cost_usd"] is not None]

    assert len(priced) > 15
    for row in priced:
        exact = sum(part["tokens"] * part["usd_per_token"] for part in row["parts"])
        assert abs(exact - row["token_cost_usd"]) <= Decimal("5e-13")


@pytest.mark.fault(57)
def test_a_list_price_names_its_edition(seen: Seen) -> None:
    """The catalogue comes with the package, and every price taken from it says of which release."""
    assert re.fullmatch(r"genai-prices \d+\.\d+\.\d+", seen.explained("cut short")[1]["price_source"])


def test_every_verdict_has_words() -> None:
    """Each verdict that the report can give, roles among them, is a sentence in the words file."""
    sql = (ROOT / "warehouse" / "sql" / "reports" / "explain.sql").read_text(encoding="utf-8")
    words = tomllib.loads((ROOT / "taximeter" / "explain_words.toml").read_text(encoding="utf-8"))["verdicts"]
    chosen = sql.split("coalesce(p.counted, false) as counted", 1)[1].split("as verdict", 1)[0]
    given = set(re.findall(r"then '(\w+)'", chosen)) | {"counted_tool", "counted_retrieval"}
    roles = {rule.role for dialect in dialects() for rule in dialect.roles}
    never_alone = {"llm", "tool", "retrieval", "embedding"}

    assert len(given) > 12
    assert (given - {"counted_"}) | (roles - never_alone) <= words.keys()


@pytest.mark.fault(83, 85)
def test_a_trace_of_any_shape_is_written_once_per_span(seen: Seen) -> None:
    """Three thousand spans below each other, and two that are each other's parent, are all in the tree."""
    row = seen.explained("cut short")[1]
    chain = [
        {
            **row,
            "span_id": str(n),
            "step_id": f"s{n}",
            "parent_span_id": str(n - 1) if n else None,
            "name": f"n{n}.",
        }
        for n in range(3_000)
    ]
    circle = [
        {**row, "span_id": mine, "step_id": mine, "parent_span_id": other, "name": f"{mine}."}
        for mine, other in (("a", "b"), ("b", "a"))
    ]
    names = re.findall(r"- (\w+)\. \[", write_tasks([], [*chain, *circle]))

    assert sorted(names) == sorted([*(f"n{n}" for n in range(3_000)), "a", "b"])


def test_what_stands_elsewhere_stands_there() -> None:
    """Each entry that this folder leaves to another names a test that exists."""
    for place in tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["elsewhere"].values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (HERE.parent / file).read_text(encoding="utf-8"), place
