"""Traps of single dialects: spans that look like calls, shared names, keys and links."""

from typing import Any

import pytest

from collector.decode.testing import OPTIONS, decode_rows, decode_span, make_request, make_span

Row = dict[str, Any]


@pytest.mark.parametrize(
    ("attributes", "request_", "role"),
    [
        ({"logfire.span_type": "pending_span"}, {"scope": "pydantic-ai"}, "noise"),
        ({"gen_ai.operation.name": "execute_tool"}, {"scope": "crewai", "name": "tool failure"}, "noise"),
        ({"mcp.method.name": "tools/list"}, {}, "inner"),
        ({"mcp.method.name": "tools/call", "gen_ai.tool.name": "t"}, {}, "tool"),
        (
            {"gen_ai.operation.name": "chat"},
            {"scope": "com.anthropic.sdk.python", "name": "anthropic.messages.count_tokens"},
            "inner",
        ),
        ({"openinference.span.kind": "TOOL"}, {"name": "handoff to Bob"}, "wrapper"),
        ({"gen_ai.conversation.id": "c", "http.request.method": "POST"}, {"kind": "client"}, "transport"),
        ({"gen_ai.request.model": "m"}, {"kind": "client"}, "llm"),
        ({"llm.request.type": "embedding", "gen_ai.request.model": "m"}, {}, "embedding"),
    ],
)
def test_spans_that_look_like_calls_and_are_none(attributes: Row, request_: Row, role: str) -> None:
    """Early copies, failure marks, listings, counts, hand-overs and transport have roles of their own."""
    assert decode_span(attributes, **request_)["role"] == role


def test_the_same_scope_is_told_apart_by_schema_url_and_version() -> None:
    """One instrumentation has a schema URL and b in its version, the other of that name neither."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    scope = "opentelemetry.instrumentation.openai_agents"
    ours = decode_span(attributes, scope=scope, version="2.4b0", schema_url="https://example.com/1.37.0")
    theirs = decode_span(attributes, scope=scope, version="0.62.4")
    assert (ours["dialect"], theirs["dialect"]) == ("otel_genai", "openllmetry")


def test_adk_is_known_by_its_keys_where_an_export_lost_the_scope() -> None:
    """Its model call stays a call under a foreign scope, and its guess of a provider is not taken."""
    attributes = {
        "gen_ai.system": "gcp.vertex.agent",
        "gcp.vertex.agent.event_id": "e",
        "gen_ai.usage.input_tokens": 5,
    }
    row = decode_span(
        attributes, name="call_llm", scope="opentelemetry.instrumentation.httpx", version="0.59b0"
    )
    assert (row["dialect"], row["role"], row["provider"], row["input_tokens"]) == (
        "google_adk",
        "llm",
        None,
        5,
    )


def test_a_codex_try_counts_from_zero() -> None:
    """The event's own name is a place in the source; attempt 1 is the second try."""
    events = [
        (
            "core/src/client.rs:1",
            {"event.name": "codex.api_request", "attempt": 1, "http.response.status_code": 503},
        )
    ]
    row = decode_span(
        {"gen_ai.usage.input_tokens": 1}, resource={"service.name": "codex_exec"}, events=events
    )
    assert (row["attempts"], row["attempt_errors"]) == (2, ["503"])


def test_the_first_token_of_an_unstreamed_openlit_call_is_unknown() -> None:
    """OpenLIT sends the duration there; only of a stream is it a first-token time."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.server.time_to_first_token": 1.0}
    scope = "openlit.instrumentation.openai"
    assert decode_span({**attributes, "gen_ai.request.is_stream": False}, scope=scope)["ttft_ns"] is None
    assert decode_span({**attributes, "gen_ai.request.is_stream": True}, scope=scope)["ttft_ns"] == 10**9


def test_a_strands_input_without_a_total_is_a_range() -> None:
    """Nothing tells the version, so cache figures that no total settles leave two readings."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "strands-agents",
        "gen_ai.usage.input_tokens": 500,
        "gen_ai.usage.cache_read.input_tokens": 300,
        "gen_ai.server.time_to_first_token": 820,
    }
    row = decode_span(attributes, scope="strands.telemetry.tracer")
    assert (row["input_tokens"], row["input_tokens_high"], row["ttft_ns"]) == (500, 800, 820_000_000)


def test_the_user_s_task_key_stands_before_the_dialect_s() -> None:
    """What the settings name is the task key, on the span or its resource; else the dialect's."""
    options = OPTIONS._replace(task_key="order.id")
    span = make_span({"gen_ai.operation.name": "llm_call", "gen_ai.prompt.name": "p1", "order.id": 77})
    (own,) = decode_rows(make_request(span, scope="gemini-cli"), options=options)
    bare = make_span({"gen_ai.operation.name": "llm_call", "gen_ai.prompt.name": "p1"})
    (shared,) = decode_rows(
        make_request(bare, scope="gemini-cli", resource={"order.id": "78"}), options=options
    )
    (other,) = decode_rows(make_request(bare, scope="gemini-cli"), options=options)
    assert [row["task_key"] for row in (own, shared, other)] == ["77", "78", "p1"]


def test_links_to_other_traces_are_kept_once() -> None:
    """A link to another trace is told once, a link to the own trace or to no real id not at all."""
    span = make_span({}, trace=1)
    for trace_id in (
        (2).to_bytes(16, "big"),
        (2).to_bytes(16, "big"),
        (1).to_bytes(16, "big"),
        bytes(16),
        b"x",
    ):
        span.links.add(trace_id=trace_id)
    assert decode_rows(make_request(span, make_span(number=2)))[0]["task_links"] == [f"{2:032x}"]


@pytest.mark.parametrize(
    ("state", "flags"),
    [("ot=th:8", ["head_sampled"]), ("a=b,ot=rv:1;th:c", ["head_sampled"]), ("ot=th:0", None), ("", None)],
)
def test_head_sampled_traces_are_flagged(state: str, flags: list[str] | None) -> None:
    """A sampling threshold above zero in the trace state says that other traces are missing."""
    span = make_span({})
    span.trace_state = state
    assert decode_rows(make_request(span))[0]["flags"] == flags
