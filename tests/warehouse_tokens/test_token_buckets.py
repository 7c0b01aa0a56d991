"""Where a task's tokens went: threads, what was sent again, the single pass, loops, sessions."""

from collections.abc import Mapping

import pytest
from token_bench import Seen, look

from warehouse.testing_rows import Row, agent, llm, tool

STOP = {"parent": "agent", "finish_reason": "stop"}
ASKS = {"parent": "agent", "finish_reason": "tool_calls"}


def repeated(*deeds: str, **columns: object) -> list[Row]:
    """A call before each tool call; a deed is arguments and result in one letter."""
    rows = [agent("agent", 0, 100)]
    for number, deed in enumerate(deeds):
        rows.append(
            llm(f"call {number}", 2 * number, 2 * number + 1, tokens=(100 * (number + 1), 10), **ASKS)
        )
        rows.append(
            tool(
                f"tool {number}",
                2 * number + 1.1,
                2 * number + 1.9,
                parent="agent",
                **{"tool_name": deed, "args_hash": deed, "result_hash": deed, **columns},
            )
        )
    return [*rows, llm("last", 50, 51, tokens=(1000, 7), **STOP)]


def messages(*words: str) -> dict[str, object]:
    """Messages of 2000 bytes each; a word stands for what one says."""
    return {"message_hashes": list(words), "message_bytes": [2000] * len(words)}


CASES: Mapping[str, list[Row]] = {
    # Four bytes are a token: a document of its own each time, after the same instructions.
    "one document after the other": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1000, 100), **messages("rules", "a"), **STOP),
        llm("second", 3, 4, tokens=(1000, 100), **messages("rules", "b"), **STOP),
    ],
    "grown history": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1000, 100), **messages("rules", "a"), **ASKS),
        llm("second", 3, 4, tokens=(1600, 100), **messages("rules", "a", "said", "result"), **STOP),
    ],
    "oldest dropped": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1500, 100), **messages("rules", "old", "a"), **ASKS),
        llm("second", 3, 4, tokens=(2000, 100), **messages("rules", "a", "said", "result"), **STOP),
    ],
    "history kept by the server": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1000, 100), **messages("rules", "a"), **ASKS),
        llm("second", 3, 4, tokens=(1600, 100), **messages("result"), **STOP),
    ],
    "one call": [agent("agent", 0, 9), llm("only", 1, 2, tokens=(100, 30), tool_schema_tokens=40, **STOP)],
    "one thinking call": [llm("only", 1, 2, tokens=(100, 30), reasoning_tokens=20, finish_reason="stop")],
    "thread": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1000, 100), reasoning_tokens=60, tool_schema_tokens=300, **ASKS),
        llm("second", 3, 4, tokens=(1500, 50), tool_schema_tokens=300, **ASKS),
        llm("third", 5, 6, tokens=(1600, 80), reasoning_tokens=30, tool_schema_tokens=300, **STOP),
    ],
    "compaction": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1000, 100), **ASKS),
        llm("second", 3, 4, tokens=(5000, 100), **ASKS),
        llm("third", 5, 6, tokens=(1200, 80), **STOP),
    ],
    "side call": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(1000, 100), **ASKS),
        llm("title", 2.1, 2.2, tokens=(80, 5), **STOP),
        llm("second", 3, 4, tokens=(1400, 80), **STOP),
    ],
    "title by another model": [
        agent("agent", 0, 9),
        llm("quota", 0.5, 0.6, tokens=(10, 1), model_requested="small", **STOP),
        llm("first", 1, 2, tokens=(1000, 100), **ASKS),
        llm("second", 3, 4, tokens=(1400, 80), **STOP),
        llm("title", 5, 5.2, tokens=(80, 5), model_requested="small", **STOP),
    ],
    "sub-agent": [
        agent("agent", 0, 20),
        llm("first", 1, 2, tokens=(1000, 100), **ASKS),
        tool("task", 3, 10, parent="agent"),
        llm("sub 1", 4, 5, tokens=(300, 20), parent="task", finish_reason="tool_calls"),
        llm("sub 2", 6, 7, tokens=(400, 30), parent="task", finish_reason="stop"),
        llm("second", 11, 12, tokens=(1200, 80), **STOP),
    ],
    "hand-over": [
        agent("agent", 0, 4),
        llm("first", 1, 2, tokens=(1000, 100), **ASKS),
        agent("billing", 5, 9),
        llm("second", 6, 7, tokens=(700, 50), parent="billing", finish_reason="stop"),
    ],
    "cut": [
        agent("agent", 0, 9),
        llm("only", 1, 2, tokens=(100, 30), parent="agent", finish_reason="length"),
    ],
    "asked": [agent("agent", 0, 9), llm("only", 1, 2, tokens=(100, 30), **ASKS)],
    "asked by deed": [
        agent("agent", 0, 9),
        llm("only", 1, 2, tokens=(100, 30), **STOP),
        tool("t", 3, 4, parent="agent"),
    ],
    "failed at last": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(100, 30), **ASKS),
        tool("t", 3, 4, parent="agent"),
        llm("last", 5, 6, status="error", parent="agent"),
    ],
    "one unknown": [
        agent("agent", 0, 9),
        llm("first", 1, 2, tokens=(100, 30), **ASKS),
        llm("second", 3, 4, **ASKS),
        llm("third", 5, 6, tokens=(200, 30), **STOP),
    ],
    "same again": repeated("a", "a", "a"),
    "same with a write between": repeated("a", "b", "a"),
    "cycle": repeated("a", "b", "a", "b"),
    "cycle of four": repeated("a", "b", "c", "d", "a", "b", "c", "d"),
    "cycle of five": repeated("a", "b", "c", "d", "e", "a", "b", "c", "d", "e"),
    "reads between": repeated("a", "b", "a", tool_read_only=True),
    "without results": repeated("a", "a", "a", result_hash=None),
    "failed again": repeated("a", "a", "a", status="error"),
    "session 1": [agent("agent", 0, 9, session_id="s"), llm("only", 1, 2, tokens=(500, 30), **STOP)],
    "session 2": [
        agent("agent", 10, 19, session_id="s"),
        llm("only", 11, 12, tokens=(560, 40), **STOP),
    ],
    "session 3": [
        agent("agent", 20, 29, session_id="s"),
        llm("first", 21, 22, tokens=(650, 40), **ASKS),
        llm("second", 23, 24, tokens=(700, 10), **STOP),
    ],
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return look(tmp_path_factory.mktemp("buckets"), CASES)


@pytest.mark.parametrize(
    ("case", "tokens"),
    [
        ("one call", {"first_prompt": 100, "answer": 30}),
        ("one thinking call", {"first_prompt": 100, "answer": 30}),
        (
            "thread",
            {
                "first_prompt": 1000,
                "tool_schema": 600,
                "resent_context": (1000 - 300 + 40) + (1500 - 300 + 50),
                "fresh_later": (1200 - 740) + (1300 - 1250),
                "reasoning": 90,
                "intermediate_output": 40 + 50,
                "answer": 50,
            },
        ),
        (
            "compaction",
            {
                "first_prompt": 1000,
                "resent_context": 1100 + 1200,
                "fresh_later": 3900,
                "intermediate_output": 200,
                "answer": 80,
            },
        ),
        (
            "side call",
            {
                "first_prompt": 1000,
                "resent_context": 1100,
                "fresh_later": 80 + 300,
                "intermediate_output": 105,
                "answer": 80,
            },
        ),
        (
            "title by another model",
            {
                "first_prompt": 1000,
                "resent_context": 1100 + 11,
                "fresh_later": 10 + 300 + 69,
                "intermediate_output": 1 + 100 + 5,
                "answer": 80,
            },
        ),
        (
            "sub-agent",
            {
                "first_prompt": 1000,
                "resent_context": 320 + 1100,
                "fresh_later": 300 + 80 + 100,
                "intermediate_output": 100 + 50,
                "answer": 80,
            },
        ),
        (
            "one document after the other",
            {
                "first_prompt": 1000,
                "resent_context": 500,
                "fresh_later": 500,
                "intermediate_output": 100,
                "answer": 100,
            },
        ),
        (
            "grown history",
            {
                "first_prompt": 1000,
                "resent_context": 1000 + 100,
                "fresh_later": 500,
                "intermediate_output": 100,
                "answer": 100,
            },
        ),
        (
            "oldest dropped",
            {
                "first_prompt": 1500,
                "resent_context": 2000 * 2 // 4 + 100,
                "fresh_later": 900,
                "intermediate_output": 100,
                "answer": 100,
            },
        ),
        (
            "history kept by the server",
            {
                "first_prompt": 1000,
                "resent_context": 1100,
                "fresh_later": 500,
                "intermediate_output": 100,
                "answer": 100,
            },
        ),
        ("hand-over", {"first_prompt": 1000, "fresh_later": 700, "intermediate_output": 100, "answer": 50}),
        ("session 1", {"first_prompt": 500, "answer": 30}),
        # What the session's second question adds to its first prompt is new; the rest was there already.
        ("session 2", {"first_prompt": 560 - 30, "resent_context": 30, "answer": 40}),
        (
            "session 3",
            {
                "first_prompt": 650 - 100,
                "resent_context": 100 + 690,
                "fresh_later": 10,
                "intermediate_output": 40,
                "answer": 10,
            },
        ),
    ],
)
def test_every_token_is_in_one_bucket(seen: Seen, case: str, tokens: dict[str, int]) -> None:
    """The buckets of a task are those worked out by hand from the rules, and sum to its tokens."""
    assert seen.tokens(case) == tokens
    assert sum(tokens.values()) == seen.tasks[case]["total_tokens"]


@pytest.mark.parametrize("case", ["one call", "one thinking call", "session 1"])
def test_one_call_is_its_own_single_pass(seen: Seen, case: str) -> None:
    """A task of one call has multiplier exactly 1, whether schemas were captured and whether it thought."""
    assert seen.figures(case, "token_multiplier", "cost_multiplier") == (1.0, 1.0)


@pytest.mark.parametrize("case", ["cut", "asked", "asked by deed", "failed at last"])
def test_no_answer_no_multiplier(seen: Seen, case: str) -> None:
    """A last call that was cut, failed, or asked for a tool is no answer: nothing is a multiple of it."""
    assert seen.figures(case, "single_pass_tokens", "token_multiplier", "cost_multiplier") == (
        None,
        None,
        None,
    )


def test_unknown_usage_leaves_the_multiplier_unknown(seen: Seen) -> None:
    """A multiplier of a total that misses calls would be too small: it is null, the share is shown."""
    assert seen.figures("one unknown", "token_multiplier", "total_tokens", "single_pass_tokens") == (
        None,
        360,
        130,
    )
    assert seen.figures("one unknown", "usage_known_ratio") == (pytest.approx(2 / 3),)


@pytest.mark.parametrize(
    ("case", "loops", "tokens"),
    [
        ("same again", 2, 210 + 310),
        ("same with a write between", 0, 0),
        ("cycle", 2, 310 + 410),
        ("cycle of four", 4, 510 + 610 + 710 + 810),
        ("cycle of five", 0, 0),
        ("reads between", 1, 310),
        ("without results", 0, 0),
        ("failed again", 0, 0),
    ],
)
def test_a_loop_is_a_proved_repeat(seen: Seen, case: str, loops: int, tokens: int) -> None:
    """Only equal arguments and results with no other write between count, and cycles of up to four."""
    assert seen.figures(case, "loops") == (loops,)
    assert seen.tokens(case).get("loop", 0) == tokens


def test_repeated_failures_are_tool_retries(seen: Seen) -> None:
    """A failed tool that is called again the same way is a retry of the tool and no loop."""
    assert seen.figures("failed again", "tool_retries") == (2,)


def test_all_laws_hold_for_every_thread(seen: Seen) -> None:
    """Buckets sum to steps and tasks, and multipliers are their ratios."""
    assert seen.broken == []
