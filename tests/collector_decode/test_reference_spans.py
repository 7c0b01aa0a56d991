"""Every span that the reference documents name is read as they say, by itself alone."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from collector.decode.testing import decode_rows
from collector.otlp_json import to_protobuf

SPANS = Path(__file__).parents[2].parent / "shared" / "reference" / "spans"
EXPECTED = sorted(SPANS.glob("*.expected.json"))
# A counted span takes these from spans below it; by itself it does not know them.
FROM_INSIDE = {
    "double_instrumented": {"model_response"},
    "litellm_proxy": {"provider", "cost_usd"},
    "vllm_server": {"ttft_ms"},
}
UNCOUNTED = {"agent", "wrapper", "gateway", "server", "attempt", "transport", "inner", "noise"}

pytestmark = pytest.mark.skipif(not EXPECTED, reason="the reference spans are not beside this repository")


@cache
def _rows(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    document = path.with_name(path.name.replace(".expected", "")).read_bytes()
    rows = decode_rows(to_protobuf("traces", document))
    return json.loads(path.read_text()), {row["span_id"]: row for row in rows}


def _said(row: dict[str, Any]) -> dict[str, Any]:
    cost, ttft_ns = row["reported_cost_usd"], row["ttft_ns"]
    return {
        **row,
        "cost_usd": None if cost is None else float(cost),
        "ttft_ms": None if ttft_ns is None else ttft_ns / 1e6,
    }


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name.split(".")[0])
def test_model_calls_are_read_right(path: Path) -> None:
    """Model, provider, all tokens, first-token time, finish reason and cost of each call; null is not 0."""
    expected, rows = _rows(path)
    fields = ("model_requested", "model_response", "provider", "finish_reason", "cost_usd", "ttft_ms")
    tokens = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    for step in expected["steps"]:
        said = _said(rows[step["llm"]["span_id"]])
        known = [field for field in fields + tokens if field not in FROM_INSIDE.get(expected["fixture"], ())]
        assert {field: said[field] for field in known} == {field: step["llm"][field] for field in known}
        assert said["role"] == "llm"


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name.split(".")[0])
def test_failed_tries_are_read_right(path: Path) -> None:
    """A failed try says so, has its error, and a role that may be counted or joined."""
    expected, rows = _rows(path)
    tries = [one for step in expected["steps"] for one in step["llm"]["failed_attempts"] if one["span_id"]]
    for one in tries:
        row = rows[one["span_id"]]
        assert (row["status"], row["error_type"]) == ("error", one["error_type"])
        assert row["role"] in {"llm", "attempt", "gateway", "transport"}


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name.split(".")[0])
def test_tool_calls_are_read_right(path: Path) -> None:
    """Name, call id and error of each tool call."""
    expected, rows = _rows(path)
    for tool in (tool for step in expected["steps"] for tool in step["tools"]):
        row = rows[tool["span_id"]]
        said = {"name": row["tool_name"], "call_id": row["tool_call_id"], "error_type": row["error_type"]}
        assert said == {key: tool[key] for key in said}
        assert row["role"] == "tool"


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name.split(".")[0])
def test_spans_that_do_not_count_have_a_role_that_says_so(path: Path) -> None:
    """What is not counted is a wrapper, transport or another view, or a twin told by its place alone."""
    expected, rows = _rows(path)
    for one in expected["not_counted"]:
        role = rows[one["span_id"]]["role"]
        twin = any(word in one["why"] for word in ("same", "view"))
        assert role in UNCOUNTED or (twin and role in {"llm", "tool"})


def test_attempts_inside_one_span_are_told(requests: dict[str, bytes]) -> None:
    """Claude Code's attempt is the number of tries, a retry count is one less, and their errors are kept."""
    claude = {row["span_id"]: row for row in decode_rows(requests["spans/claude_code"])}
    assert claude["ec9b4bdb8a614b42"]["attempts"] == 2
    assert claude["ec9b4bdb8a614b42"]["attempt_errors"] == ["overloaded"]
    assert claude["98bbbed718102d03"]["attempts"] == 1
    bedrock = {row["span_id"]: row for row in decode_rows(requests["spans/otel_bedrock_botocore"])}
    assert bedrock["b0d85fbe0d3f7efa"]["attempts"] == 2
    assert bedrock["d6393fec2851a06b"]["attempts"] == 1


def test_an_answer_that_asks_for_a_tool_is_told_from_one_that_does_not(requests: dict[str, bytes]) -> None:
    """Where no finish reason is sent, the calls in the output say it; ADK's stop alone says nothing."""
    agents = {row["span_id"]: row for row in decode_rows(requests["spans/openinference_openai_agents"])}
    assert agents["901ed832e8a8df8a"]["asked_tool"] is True
    assert agents["124f93cb5f30f4c4"]["asked_tool"] is False
    adk = {row["span_id"]: row for row in decode_rows(requests["spans/google_adk_schema1"])}
    assert adk["aec819f706e158d6"]["asked_tool"] is None


def test_roll_ups_say_what_they_are(requests: dict[str, bytes]) -> None:
    """Usage on an agent or wrapper is a sum, the last step, a copy or cumulative, as its dialect declares."""
    meant = {
        "spans/otel_genai_current": ("a7858a611c9996bb", "sum"),
        "spans/vercel_ai_v4_anthropic": ("2760a30e5a64494f", "last"),
        "spans/vercel_ai_v5_stream_openai": ("430c7c3f08208cef", "sum"),
        "spans/strands_agents": ("7a80e9753789e7fc", "cumulative"),
        "spans/langsmith_otel": ("5c5e81cee0f36cb6", "copy"),
        "spans/claude_code": ("6215a57d7def5f9d", None),
    }
    for name, (span_id, rollup) in meant.items():
        rows = {row["span_id"]: row for row in decode_rows(requests[name])}
        assert (name, rows[span_id]["rollup"]) == (name, rollup)
