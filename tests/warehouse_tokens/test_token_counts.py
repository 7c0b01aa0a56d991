"""What counts, and what only repeats it: calls and their views, tries, tools and roll-ups."""

from collections.abc import Mapping

import pytest
from token_bench import Seen, look

from warehouse.testing_rows import Row, agent, llm, span, tool


def wrapper(name: str, start_s: float, end_s: float, **columns: object) -> Row:
    return span(name, start_s, end_s, role="wrapper", **columns)


TWO_CALLS = [
    llm("one", 1, 2, parent="agent", tokens=(56, 5)),
    llm("two", 3, 4, parent="agent", tokens=(57, 6)),
]
POST = {"role": "transport", "parent": "call"}
LIFETIME = {"parent": "crew", "rollup": "cumulative"}
LIFELONG = {"rollup": "cumulative", "agent_id": "a"}

CASES: Mapping[str, list[Row]] = {
    "sum": [agent("agent", 0, 9, input_tokens=113, output_tokens=11, rollup="sum"), *TWO_CALLS],
    "sums in sums": [
        wrapper("outer", 0, 9, input_tokens=113, output_tokens=11, rollup="sum"),
        wrapper("inner", 0.1, 8, parent="outer", input_tokens=113, output_tokens=11, rollup="sum"),
        agent("agent", 0.2, 7, parent="inner", input_tokens=113, output_tokens=11, rollup="sum"),
        *TWO_CALLS,
    ],
    "sum beyond": [
        wrapper("outer", 0, 9, input_tokens=200, output_tokens=20, rollup="sum"),
        wrapper("silent", 0.1, 8.9, parent="outer", input_tokens=100, output_tokens=10, rollup="sum"),
        agent("agent", 0.2, 8, parent="silent", input_tokens=200, output_tokens=20, rollup="sum"),
        *TWO_CALLS,
    ],
    "last": [wrapper("agent", 0, 9, input_tokens=57, output_tokens=6, rollup="last"), *TWO_CALLS],
    "only a sum": [
        wrapper("outer", 0, 9, input_tokens=210, output_tokens=20, rollup="sum"),
        agent("agent", 1, 8, parent="outer", input_tokens=200, output_tokens=20, rollup="sum"),
        tool("t", 2, 3, parent="agent"),
    ],
    "sum above silent calls": [
        agent("agent", 0, 9, input_tokens=200, output_tokens=20, rollup="sum"),
        llm("one", 1, 2, parent="agent"),
        llm("two", 3, 4, parent="agent"),
    ],
    "cumulative": [
        wrapper("crew", 0, 9),
        agent("first", 1, 3, **LIFETIME, agent_id="a", input_tokens=100, output_tokens=10),
        agent("again", 4, 6, **LIFETIME, agent_id="a", input_tokens=250, output_tokens=30),
        agent("other", 4, 6, **LIFETIME, agent_id="b", input_tokens=40, output_tokens=4),
    ],
    "cumulative, first task": [
        agent("a", 1, 3, **LIFELONG, session_id="s", input_tokens=100, output_tokens=10),
    ],
    "cumulative, next task": [
        agent("a", 4, 6, **LIFELONG, session_id="s", input_tokens=250, output_tokens=30),
    ],
    "cumulative, another session": [
        agent("a", 7, 8, **LIFELONG, session_id="t", input_tokens=260, output_tokens=31),
    ],
    "sent live and exported again": [
        agent("agent", 0, 9),
        llm("call", 1.2345678, 2.3456789, parent="agent", tokens=(10, 2)),
        llm("call", 1.234, 2.345, parent="agent", tokens=(10, 2), cache_read_tokens=4),
    ],
    "ids used again": [
        agent("agent", 0, 9),
        llm("call", 1, 2, parent="agent", tokens=(10, 2)),
        llm("call", 3, 4, parent="agent", tokens=(10, 2)),
    ],
    "program that names no agent": [llm("chat gpt-4o", 1, 2, tokens=(10, 2), service_name="billing-bot")],
    "program without a name": [llm("chat", 1, 2, tokens=(10, 2), service_name="unknown_service:python")],
    "agent with a span of its operation": [
        agent("invoke_agent coder", 0, 9, agent_name="coder", service_name="fleet"),
        llm("call", 1, 2, parent="invoke_agent coder", tokens=(10, 2)),
    ],
    "twin": [
        llm("outer", 0, 2, tokens=(1000, 100)),
        llm("inner", 0.1, 1.9, parent="outer", tokens=(1000, 100), cache_read_tokens=400, ttft_ns=7),
    ],
    "three views": [
        llm("framework", 0, 2, tokens=(10, 1)),
        llm("sdk", 0.1, 1.9, parent="framework", tokens=(10, 1)),
        span("hop", 0.2, 1.8, parent="sdk"),
        llm("client", 0.3, 1.7, parent="hop", tokens=(10, 1)),
    ],
    "call above calls": [
        llm("loop", 0, 9, tokens=(113, 11)),
        llm("one", 1, 2, parent="loop", tokens=(56, 5)),
        llm("two", 3, 4, parent="loop", tokens=(57, 6)),
    ],
    "calls at once": [
        llm("race", 0, 9),
        llm("one", 1, 4, parent="race", tokens=(56, 5), response_id="x"),
        llm("two", 2, 5, parent="race", tokens=(57, 6), response_id="y"),
    ],
    "call in a tool in a call": [
        llm("outer", 0, 9, tokens=(56, 5)),
        tool("ask", 1, 8, parent="outer"),
        llm("inner", 2, 3, parent="ask", tokens=(57, 6)),
    ],
    "one id beside": [
        agent("agent", 0, 9),
        llm("app", 1, 3, parent="agent", tokens=(10, 1), response_id="r"),
        llm("spy", 1.1, 2.9, parent="agent", tokens=(10, 1), response_id="r"),
        llm("later", 4, 5, parent="agent", tokens=(20, 2), response_id="r"),
    ],
    "failed sibling": [
        agent("agent", 0, 9),
        llm("try", 1, 2, parent="agent", status="error"),
        llm("answer", 3, 4, parent="agent", tokens=(10, 1), model_requested="another"),
    ],
    "failed, then a tool": [
        agent("agent", 0, 9),
        llm("try", 1, 2, parent="agent", status="error"),
        tool("t", 2.5, 2.8, parent="agent"),
        llm("answer", 3, 4, parent="agent", tokens=(10, 1)),
    ],
    "failed, other content": [
        agent("agent", 0, 9),
        llm("try", 1, 2, parent="agent", status="error", input_hash="a"),
        llm("answer", 3, 4, parent="agent", tokens=(10, 1), input_hash="b"),
    ],
    "two failed": [
        agent("agent", 0, 9),
        llm("try", 1, 2, parent="agent", status="error", input_hash="a"),
        llm("again", 2.5, 2.7, parent="agent", status="error", input_hash="a"),
        llm("answer", 3, 4, parent="agent", tokens=(10, 1), input_hash="a"),
    ],
    "nested failures": [
        agent("agent", 0, 9),
        llm("try", 1, 2, parent="agent", status="error"),
        llm("try inside", 1.1, 1.9, parent="try", status="error"),
        llm("answer", 3, 4, parent="agent", tokens=(10, 1)),
        llm("answer inside", 3.1, 3.9, parent="answer", tokens=(10, 1)),
    ],
    "http tries": [
        llm("call", 0, 9, tokens=(10, 1)),
        span("POST 1", 1, 2, status="error", **POST),
        span("POST 2", 3, 4, status="error", **POST),
        span("POST 3", 5, 6, **POST),
    ],
    "signals agree": [
        llm("call", 0, 9, tokens=(10, 1), attempts=2),
        span("POST 1", 1, 2, status="error", **POST),
        span("POST 3", 5, 6, **POST),
    ],
    "token fetched first": [
        llm("call", 0, 9, tokens=(10, 1)),
        span("GET token", 1, 2, **POST),
        span("POST", 3, 4, **POST),
    ],
    "rejected try": [
        llm("call", 0, 9, tokens=(10, 1)),
        span("attempt", 1, 2, role="attempt", parent="call", status="error", input_tokens=7, output_tokens=3),
    ],
    "engine": [
        agent("agent", 0, 9),
        llm("try", 1, 2, parent="agent", status="error"),
        span("engine 1", 1.1, 1.9, role="server", parent="try", input_tokens=1180, output_tokens=12),
        llm("answer", 3, 5, parent="agent", tokens=(1180, 31)),
        span("engine 2", 3.2, 4.9, role="server", parent="answer", input_tokens=1190, output_tokens=31,
             queue_ns=300_000_000, ttft_ns=500_000_000),
    ],
    "engine alone": [
        span("engine", 0, 2, role="server", input_tokens=10, output_tokens=1, model_response="m")
    ],
    "engine worked twice": [
        llm("call", 0, 9, tokens=(10, 2)),
        span("engine 1", 1, 2, role="server", parent="call", input_tokens=10, output_tokens=1),
        span("engine 2", 3, 4, role="server", parent="call", input_tokens=10, output_tokens=2),
    ],
    "gateway": [
        llm("call", 0, 9, tokens=(10, 2), provider="openai", reported_cost_usd=1),
        span("proxy", 1, 8, role="gateway", parent="call"),
        span("upstream 1", 2, 3, role="gateway", parent="proxy", status="error", model_requested="a"),
        span("upstream 2", 4, 5, role="gateway", parent="proxy", input_tokens=10, output_tokens=2,
             provider="anthropic", reported_cost_usd=2),
    ],
    "gateway alone": [
        span("proxy", 1, 8, role="gateway"),
        span("upstream 1", 2, 3, role="gateway", parent="proxy", status="error", model_requested="a"),
        span("upstream 2", 4, 5, role="gateway", parent="proxy", input_tokens=10, output_tokens=2),
    ],
    "one tool, three spans": [
        agent("agent", 0, 9),
        tool("execute", 1, 4, parent="agent", tool_name="invoice", tool_call_id="c"),
        tool("client", 1.5, 3.5, parent="execute", tool_name="invoice"),
        tool("server", 2, 3, parent="client", tool_name="other", tool_call_id="c"),
    ],
    "agent that is a tool": [
        agent("agent", 0, 9),
        tool("research", 1, 8, parent="agent", tool_name="task"),
        llm("call", 2, 3, parent="research", tokens=(10, 1)),
        tool("deeper", 4, 7, parent="research", tool_name="task"),
        tool("search", 5, 6, parent="deeper", tool_name="search"),
    ],
    "permission": [
        tool("bash", 0, 10, tool_name="Bash"),
        span("wait", 1, 8, role="inner", operation="blocked_on_user", parent="bash"),
        span("run", 8, 9.5, role="inner", operation="tool_execution", parent="bash"),
    ],
    "tool tried again": [
        agent("agent", 0, 20),
        llm("one", 1, 2, parent="agent", tokens=(10, 1)),
        tool("book 1", 3, 4, parent="agent", tool_name="book", status="error"),
        llm("two", 5, 6, parent="agent", tokens=(20, 1)),
        tool("book 2", 7, 8, parent="agent", tool_name="book"),
        llm("three", 9, 10, parent="agent", tokens=(30, 1)),
    ],
    "zero is known": [llm("call", 0, 1, tokens=(0, 0))],
    "unknown is not zero": [llm("call", 0, 1)],
    "hidden": [llm("call", 0, 1, tokens=(3, 9), total_tokens=114, reported_cost_usd=1)],
    "own parent": [llm("a", 0, 1, parent="b", tokens=(1, 1)), llm("b", 2, 3, parent="a", tokens=(1, 1))],
    "web page": [span("GET /", 0, 1), span("GET /x", 0.1, 0.2, parent="GET /", role="transport")],
}  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return look(tmp_path_factory.mktemp("counts"), CASES)


@pytest.mark.parametrize(
    ("case", "tokens", "calls", "tries", "unexplained"),
    [
        ("sum", 124, 2, 2, 0),
        ("sums in sums", 124, 2, 2, 0),
        ("sum beyond", 124, 2, 2, 96),
        ("last", 124, 2, 2, 0),
        ("only a sum", 220, None, None, 0),
        ("sum above silent calls", 220, 2, 2, 0),
        ("cumulative", 110 + 170 + 44, None, None, 0),
        ("twin", 1100, 1, 1, 0),
        ("three views", 11, 1, 1, 0),
        ("call above calls", 124, 2, 2, 0),
        ("calls at once", 124, 2, 2, 0),
        ("call in a tool in a call", 124, 2, 2, 0),
        ("one id beside", 33, 2, 2, 0),
        ("failed sibling", 11, 1, 2, 0),
        ("failed, then a tool", 11, 2, 2, 0),
        ("failed, other content", 11, 2, 2, 0),
        ("two failed", 11, 1, 3, 0),
        ("nested failures", 11, 1, 2, 0),
        ("http tries", 11, 1, 3, 0),
        ("signals agree", 11, 1, 2, 0),
        ("token fetched first", 11, 1, 1, 0),
        ("rejected try", 21, 1, 2, 0),
        ("engine", 1192 + 1211, 1, 2, 0),
        ("engine alone", 11, 1, 1, 0),
        ("engine worked twice", 23, 1, 2, 0),
        ("gateway", 12, 1, 2, 0),
        ("gateway alone", 12, 1, 2, 0),
        ("zero is known", 0, 1, 1, 0),
        ("unknown is not zero", None, 1, 1, 0),
        ("hidden", 12, 1, 1, 102),
        ("own parent", 4, 2, 2, 0),
    ],
)
def test_tokens_and_calls_count_once(
    seen: Seen, case: str, tokens: int | None, calls: int | None, tries: int | None, unexplained: int
) -> None:
    """Every token and call of a task counts once, however many spans tell of it."""
    assert seen.figures(case, "total_tokens", "llm_calls", "llm_attempts", "unexplained_tokens") == (
        tokens,
        calls,
        tries,
        unexplained,
    )


def test_all_laws_hold_for_every_nesting(seen: Seen) -> None:
    """Buckets sum to steps and to tasks whatever the shape of the trace."""
    assert seen.broken == []


def test_an_inner_view_fills_what_the_outer_one_leaves_empty(seen: Seen) -> None:
    """Of one call the outermost counts, and the cache and first-token figures come from below."""
    outer = seen.steps["twin"]["outer"]

    assert (outer["counted"], outer["cache_read_tokens"], outer["ttft_ns"]) == (True, 400, 7)
    assert seen.steps["twin"]["inner"]["counted"] is False


def test_the_clients_count_wins_over_the_engines_and_its_times_win_over_the_clients(seen: Seen) -> None:
    """An engine below a client only enriches: queue, first token, and when the deployment was busy."""
    answer = seen.steps["engine"]["answer"]
    start_ns = answer["start_ns"]

    assert answer["input_tokens"] == 1180
    assert answer["queue_ns"] == 300_000_000
    assert answer["busy_start_ns"] - start_ns == 500_000_000
    assert answer["busy_end_ns"] - start_ns == 1_900_000_000


def test_work_for_a_try_that_was_given_up_is_retried_work(seen: Seen) -> None:
    """Tokens that an engine worked for a failed try stand in the bucket retried."""
    assert seen.tokens("engine")["retried"] == 1192
    assert seen.tokens("engine worked twice")["retried"] == 11
    assert seen.tokens("rejected try")["retried"] == 10


def test_a_gateway_knows_provider_and_cost_best(seen: Seen) -> None:
    """Provider and reported cost of the gateway that passed a call on beat the client's."""
    call = seen.steps["gateway"]["call"]

    assert (call["provider"], call["reported_cost_usd"]) == ("anthropic", 2)


def test_a_roll_up_that_is_the_only_source_is_marked(seen: Seen) -> None:
    """A counted roll-up says so, is never in flight, and leaves multiplier and calls unknown."""
    row = seen.steps["only a sum"]["agent"]

    assert (row["why"], row["counted"], row["is_leaf"], row["token_provenance"]) == (
        "rollup",
        True,
        False,
        "reported",
    )
    assert seen.tokens("only a sum") == {"unsplit": 220}
    assert seen.figures("only a sum", "token_multiplier", "single_pass_tokens", "rounds") == (
        None,
        None,
        None,
    )


def test_a_lifetimes_figure_counts_by_difference_in_every_task_of_the_session(seen: Seen) -> None:
    """What an earlier task of the session had told is not told again; another session starts anew."""
    totals = {case: seen.tasks[case]["total_tokens"] for case in CASES if case.startswith("cumulative, ")}

    assert totals == {
        "cumulative, first task": 110,
        "cumulative, next task": 280 - 110,
        "cumulative, another session": 291,
    }


def test_a_span_that_is_exported_again_with_coarser_times_counts_once(seen: Seen) -> None:
    """An export cuts times to milliseconds; ids with a start in another millisecond are another call."""
    assert seen.figures("sent live and exported again", "llm_calls", "total_tokens") == (1, 12)
    assert seen.figures("ids used again", "llm_calls", "total_tokens") == (2, 24)


def test_a_task_is_named_by_its_agent(seen: Seen) -> None:
    """Name and agent are the agent's own; where nobody names one, the program that sent the spans is it."""
    assert seen.figures("agent with a span of its operation", "name", "agent") == ("coder", "coder")
    assert seen.figures("program that names no agent", "name", "agent") == ("chat gpt-4o", "billing-bot")
    assert seen.figures("program without a name", "agent") == (None,)


def test_a_tool_call_counts_once(seen: Seen) -> None:
    """Client and server views of one tool call are one call; a sub-agent's tools are calls of their own."""
    assert seen.figures("one tool, three spans", "tool_calls") == (1,)
    assert seen.figures("agent that is a tool", "tool_calls") == (3,)
    assert seen.steps["agent that is a tool"]["research"]["is_leaf"] is False
    assert seen.steps["agent that is a tool"]["search"]["is_leaf"] is True


def test_waiting_for_a_person_is_not_a_tools_work(seen: Seen) -> None:
    """A tool's work is its execution span; the wait for permission is flagged and taken off."""
    bash = seen.steps["permission"]["bash"]

    assert (bash["work_ns"], bash["waits_for_person"]) == (1_500_000_000, True)


def test_a_failed_tool_that_is_called_again_is_a_tool_retry(seen: Seen) -> None:
    """It is no retry of a model call, and its calls are rounds of their own."""
    assert seen.figures("tool tried again", "tool_retries", "retries", "loops", "rounds") == (1, 0, 0, 3)
    assert [seen.steps["tool tried again"][name]["round"] for name in ("book 1", "two", "book 2")] == [
        1,
        2,
        2,
    ]


def test_unknown_usage_is_shown_as_a_share(seen: Seen) -> None:
    """A call without usage is unknown, not zero; an explicit zero is known."""
    assert seen.figures("unknown is not zero", "input_tokens", "usage_known_ratio") == (None, 0)
    assert seen.figures("zero is known", "input_tokens", "usage_known_ratio") == (0, 1)


def test_a_trace_without_agent_work_is_no_task(seen: Seen) -> None:
    """Spans of a web server alone make no task."""
    assert "web page" not in seen.tasks
