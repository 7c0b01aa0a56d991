"""Log records of command-line agents as calls: ids, figures, times, and what is no call."""

from typing import Any

import pytest

from collector.decode.testing import OPTIONS, START_NS, decode_rows, make_logs
from collector.dialects.read_logs import log_sections

NS_PER_MS = 1_000_000
Attributes = dict[str, Any]

CLAUDE: Attributes = {"session.id": "s1", "prompt.id": "p1"}
CLAUDE_CALL: Attributes = {
    **CLAUDE,
    "event.name": "api_request",
    "model": "claude-sonnet-4-5-20250929",
    "input_tokens": "12",
    "output_tokens": "300",
    "cache_read_tokens": 20_000,
    "cache_creation_tokens": 1_000.0,
    "cost_usd": "0.0142",
    "duration_ms": "2500",
    "request_id": "req_1",
}
CODEX: Attributes = {"conversation.id": "c1", "model": "gpt-5-codex"}
CODEX_CALL: Attributes = {
    **CODEX,
    "event.name": "codex.sse_event",
    "event.kind": "response.completed",
    "input_token_count": "5000",
    "output_token_count": "700",
    "cached_token_count": 4_096,
    "reasoning_token_count": 512,
    "tool_token_count": "5700",
}
GEMINI: Attributes = {"session.id": "g1", "prompt_id": "g1########0", "model": "gemini-2.5-pro"}
GEMINI_CALL: Attributes = {
    **GEMINI,
    "event.name": "gemini_cli.api_response",
    "input_token_count": 1000,
    "output_token_count": 40,
    "cached_content_token_count": 600,
    "thoughts_token_count": 60,
    "tool_token_count": 0,
    "total_token_count": 1100,
    "duration_ms": 1500,
    "status_code": 200,
}


def _request(*events: Attributes, service: str = "claude-code", t_ns: int = START_NS, **more: Any) -> bytes:
    return make_logs(*((t_ns, event) for event in events), resource={"service.name": service}, **more)


def _rows(*events: Attributes, kind: str = "spans", **request: Any) -> list[Attributes]:
    return decode_rows(_request(*events, **request), kind=kind, signal="logs")


def _row(event: Attributes, **request: Any) -> Attributes:
    (row,) = _rows(event, **request)
    return row


def _tokens(row: Attributes) -> tuple[int | None, ...]:
    return tuple(
        row[f"{part}_tokens"] for part in ("input", "cache_read", "cache_write", "output", "reasoning")
    )


@pytest.mark.parametrize(
    ("event", "service", "tokens"),
    [
        (CLAUDE_CALL, "claude-code", (21_012, 20_000, 1_000, 300, None)),
        (CODEX_CALL, "codex_cli_rs", (5_000, 4_096, None, 700, 512)),
        (GEMINI_CALL, "gemini-cli", (1_000, 600, None, 100, 60)),
    ],
)
def test_a_usage_event_is_a_model_call(event: Attributes, service: str, tokens: tuple[Any, ...]) -> None:
    """Numbers are read in every wire type, and input holds the cache, output the reasoning."""
    row = _row(event, service=service)
    assert (row["role"], row["signal"], row["parent_span_id"]) == ("llm", "log", None)
    assert row["model_requested"] == event["model"]
    assert _tokens(row) == tokens


def test_a_call_ended_when_it_was_told() -> None:
    """The start is the record's time less the duration in milliseconds; the cost is the source's own."""
    row = _row(CLAUDE_CALL)
    assert (row["start_ns"], row["end_ns"]) == (START_NS - 2_500 * NS_PER_MS, START_NS)
    assert (str(row["reported_cost_usd"]), row["flags"]) == ("0.014200000000", ["cache_added"])


def test_an_event_without_a_duration_says_so() -> None:
    """Nobody knows how long a Codex answer took: the row has one instant and is flagged."""
    row = _row({**CODEX_CALL, "duration_ms": "3"}, service="codex_cli_rs")
    assert (row["start_ns"], row["end_ns"], row["flags"]) == (START_NS, START_NS, ["untimed"])


def test_the_bare_and_the_full_name_are_one_event() -> None:
    """An agent that leaves its prefix out of event.name is known by its service or by the record's body."""
    full = {**CLAUDE_CALL, "event.name": "claude_code.api_request"}
    named = _row(CLAUDE_CALL, service="my-agent", body="claude_code.api_request")
    assert _row(CLAUDE_CALL)["span_id"] == _row(full)["span_id"] == named["span_id"]
    assert (
        _rows(CLAUDE_CALL, service="my-agent") == _rows(CLAUDE_CALL, service="my-agent", body="hello") == []
    )


@pytest.mark.parametrize(
    ("event", "service"),
    [
        ({**CLAUDE, "event.name": "user_prompt", "prompt": "hello"}, "claude-code"),
        ({**CODEX, "event.name": "codex.sse_event", "event.kind": "response.output_item.done"}, "codex_exec"),
        ({**CODEX, "event.name": "codex.api_request", "http.response.status_code": 200}, "codex_exec"),
        ({**GEMINI, "event.name": "gemini_cli.user_prompt"}, "gemini-cli"),
        ({"event.name": "gen_ai.client.inference.operation.details"}, "gemini-cli"),
    ],
)
def test_other_events_are_logs_alone(event: Attributes, service: str) -> None:
    """Prompts, parts of a stream and requests whose answer tells the usage make no row of a call."""
    assert _rows(event, service=service) == []
    assert len(_rows(event, service=service, kind="logs")) == 1


def test_one_prompt_is_one_trace_and_one_request_one_span() -> None:
    """Ids are made of service, session and prompt, and of the request id whatever else is told of it."""
    first, again, other, next_prompt, elsewhere = (
        _row({**CLAUDE_CALL, **more})
        for more in (
            {},
            {"query_source": "main"},
            {"request_id": "req_2"},
            {"prompt.id": "p2"},
            {"session.id": "s2"},
        )
    )
    assert (first["trace_id"], first["span_id"]) == (again["trace_id"], again["span_id"])
    assert first["trace_id"] == other["trace_id"]
    assert first["span_id"] != other["span_id"]
    assert len({row["trace_id"] for row in (first, next_prompt, elsewhere)}) == 3
    assert (first["task_key"], first["session_id"]) == ("p1", "s1")


def test_without_a_prompt_id_the_trace_that_a_record_names_is_its_prompt() -> None:
    """Else the whole session is one; the named trace is linked, so that spans of it are the same task."""
    plain = _row(CODEX_CALL, service="codex_exec")
    named = [_row(CODEX_CALL, service="codex_exec", trace_id=bytes([n] * 16)) for n in (1, 2)]
    assert len({row["trace_id"] for row in (plain, *named)}) == 3
    assert [row["task_links"] for row in (plain, *named)] == [None, ["01" * 16], ["02" * 16]]


def test_without_any_id_equal_records_are_one_and_others_apart() -> None:
    """The content and the instant name a call that names itself nowhere; it joins no other."""
    nameless = {"event.name": "codex.sse_event", "event.kind": "response.completed", "input_token_count": 5}
    one, two = _rows(nameless, nameless, service="codex_exec")
    (later,) = _rows(nameless, service="codex_exec", t_ns=START_NS + 1)
    assert (one["trace_id"], one["span_id"]) == (two["trace_id"], two["span_id"])
    assert later["trace_id"] != one["trace_id"]
    assert later["span_id"] != one["span_id"]


@pytest.mark.parametrize(
    ("event", "service", "told"),
    [
        (
            {
                "event.name": "api_error",
                "model": "m",
                "status_code": 529,
                "attempt": "11",
                "error": "is busy",
            },
            "claude-code",
            ("529", 11),
        ),
        (
            {"event.name": "codex.api_request", "http.response.status_code": "500", "attempt": 1},
            "codex_exec",
            ("500", None),
        ),
        ({"event.name": "codex.api_request", "error.message": "it broke"}, "codex_exec", (None, None)),
        ({"event.name": "gemini_cli.api_error", "error_type": "ApiError"}, "gemini-cli", ("ApiError", None)),
    ],
)
def test_a_failed_request_is_a_call_without_usage(
    event: Attributes, service: str, told: tuple[Any, ...]
) -> None:
    """It failed, its tokens are unknown, and how often it was tried is read where the event tells the sum."""
    row = _row(event, service=service)
    assert (row["role"], row["status"]) == ("llm", "error")
    assert (row["error_type"], row["attempts"]) == told
    assert _tokens(row) == (None,) * 5


@pytest.mark.parametrize(
    ("event", "service", "name"),
    [
        (
            {**CLAUDE, "event.name": "tool_result", "tool_name": "Bash", "success": "true"},
            "claude-code",
            "Bash",
        ),
        (
            {**CODEX, "event.name": "codex.tool_result", "tool_name": "shell", "success": "false"},
            "codex_exec",
            "shell",
        ),
        (
            {**GEMINI, "event.name": "gemini_cli.tool_call", "function_name": "read_file", "success": False},
            "gemini-cli",
            "read_file",
        ),
    ],
)
def test_a_tool_event_is_a_tool_call(event: Attributes, service: str, name: str) -> None:
    """It has its name, its duration, and failed if it says so, as a flag or as text."""
    row = _row({**event, "duration_ms": "40"}, service=service)
    assert (row["role"], row["tool_name"], row["model_requested"]) == ("tool", name, None)
    assert row["end_ns"] - row["start_ns"] == 40 * NS_PER_MS
    assert (row["status"] == "error") == (str(event["success"]).lower() == "false")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("input_tokens", "-5", "negative"),
        ("duration_ms", "-1.5", "negative"),
        ("output_tokens", "many", "not_a_number"),
    ],
)
def test_a_bad_figure_is_refused_alone(field: str, value: str, reason: str) -> None:
    """The refusal names the signal and the call; the call's other figures stay, a bad duration is none."""
    event = {**CLAUDE_CALL, field: value}
    (refused,) = _rows(event, kind="refused")
    row = _row(event)
    assert (refused["signal"], refused["reason"], refused["trace_id"]) == ("logs", reason, row["trace_id"])
    assert row["cache_read_tokens"] == 20_000
    assert ("untimed" in (row["flags"] or [])) == (field == "duration_ms")


def test_no_text_of_an_event_is_stored() -> None:
    """Arguments, results, bodies and messages of errors leave lengths and keyed hashes behind."""
    secret = "the planted words"
    events: list[Attributes] = [
        {**CODEX, "event.name": "codex.tool_result", "arguments": f'{{"q": "{secret}"}}', "output": secret},
        {**CODEX, "event.name": "codex.api_request", "error.message": secret},
        {**CODEX, "event.name": "codex.user_prompt", "prompt": secret},
        {**CLAUDE, "event.name": "claude_code.api_error", "error": secret, "model": "m"},
    ]
    payload = _request(*events, service="codex_exec", body=secret)
    kept = [decode_rows(payload, kind=kind, signal="logs") for kind in ("spans", "logs", "refused")]
    assert secret not in repr(kept)
    tool = next(row for row in kept[0] if row["role"] == "tool")
    assert (tool["result_bytes"], len(tool["args_hash"])) == (len(secret), 32)


def test_ids_need_the_installation_s_key() -> None:
    """The same session has other ids under another key: they tell nothing of the names they are made of."""
    other = OPTIONS._replace(content_key=b"x" * 32)
    (row,) = decode_rows(_request(CLAUDE_CALL), signal="logs", options=other)
    assert row["trace_id"] != _row(CLAUDE_CALL)["trace_id"]


def test_every_log_section_has_an_event_of_its_own() -> None:
    """No event can be read by two sections."""
    prefixes = [section.prefix for section in log_sections()]
    assert len(prefixes) == len(set(prefixes)) == 3
