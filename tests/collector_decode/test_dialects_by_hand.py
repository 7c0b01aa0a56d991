"""Dialects for which there is no recorded request here: one span each, in the form the library sends."""

import json
from decimal import Decimal
from typing import Any

import pytest

from collector.decode.testing import START_NS, decode_span

Row = dict[str, Any]


def _said(row: Row, meant: Row) -> Row:
    return {key: row[key] for key in meant}


@pytest.mark.parametrize(
    ("details", "meant"),
    [
        (
            {"input": 100, "input_cache_read": 900, "output": 20, "output_reasoning": 30, "total": 1_050},
            {"input_tokens": 1_000, "output_tokens": 50, "cache_read_tokens": 900, "inclusivity": "proved"},
        ),
        (
            {
                "prompt_tokens": 1_000,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 900},
            },
            {"input_tokens": 1_000, "output_tokens": 50, "cache_read_tokens": 900, "inclusivity": "declared"},
        ),
        (
            {"input_tokens": 100, "cache_read_input_tokens": 50, "output_tokens": 7},
            {"input_tokens": 150, "output_tokens": 7, "cache_read_tokens": 50, "inclusivity": "declared"},
        ),
    ],
)
def test_langfuse_usage_has_three_shapes(details: Row, meant: Row) -> None:
    """Buckets add up, a provider's object includes the cache, raw Anthropic names leave it out."""
    attributes = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(details),
        "langfuse.observation.cost_details": '{"total": 0.25}',
        "langfuse.observation.completion_start_time": '"2026-05-28T20:26:40.500000Z"',
    }
    row = decode_span(attributes, scope="langfuse-sdk", start_ns=START_NS)
    assert _said(row, meant) == meant
    assert (row["dialect"], row["role"], row["reported_cost_usd"]) == ("langfuse", "llm", Decimal("0.25"))
    assert row["ttft_ns"] == 500_000_000


@pytest.mark.parametrize(
    ("operation", "attributes", "meant"),
    [
        (  # v6: the mark says that the cache is inside
            "ai.generateText.doGenerate",
            {
                "ai.usage.inputTokens": 1_900,
                "ai.usage.inputTokenDetails.cacheReadTokens": 1_800,
                "ai.usage.inputTokenDetails.noCacheTokens": 100,
            },
            {"role": "llm", "input_tokens": 1_900, "cache_read_tokens": 1_800, "inclusivity": "declared"},
        ),
        (  # v5: it is not, and stands only inside JSON
            "ai.streamText.doStream",
            {
                "ai.usage.inputTokens": 2_000,
                "ai.response.providerMetadata": '{"anthropic":{"cacheReadInputTokens":1800}}',
            },
            {"role": "llm", "input_tokens": 3_800, "cache_read_tokens": 1_800, "inclusivity": "declared"},
        ),
        (  # generateObject kept its names from v4 to v6 and changed their meaning
            "ai.generateObject.doGenerate",
            {
                "ai.usage.promptTokens": 2_000,
                "ai.response.providerMetadata": '{"anthropic":{"cacheReadInputTokens":1800}}',
            },
            {"role": "llm", "input_tokens": 2_000, "input_tokens_high": 3_800, "inclusivity": "ambiguous"},
        ),
        (  # embeddings have one figure
            "ai.embed.doEmbed",
            {"ai.usage.tokens": 12},
            {"role": "embedding", "input_tokens": 12, "output_tokens": None, "inclusivity": "declared"},
        ),
        (  # a v6 root is the sum of its steps
            "ai.generateText",
            {"ai.usage.inputTokens": 9, "ai.usage.inputTokenDetails.noCacheTokens": 9},
            {"role": "agent", "rollup": "sum"},
        ),
    ],
)
def test_vercel_figures_are_read_by_version(operation: str, attributes: Row, meant: Row) -> None:
    """The same provider's input holds the cache in v6 and not in v5; where no mark tells, it is a range."""
    base = {"ai.operationId": operation, "ai.model.provider": "anthropic.messages", "ai.model.id": "claude"}
    row = decode_span({**base, **attributes}, scope="ai")
    assert _said(row, meant) == meant
    assert row["provider"] == "anthropic"


def test_a_v4_count_that_is_not_a_number_is_unknown() -> None:
    """Version 4 sends NaN where the provider said nothing."""
    row = decode_span({"ai.operationId": "ai.generateText.doGenerate", "ai.usage.promptTokens": float("nan")})
    assert row["input_tokens"] is None


HANDMADE: dict[str, tuple[Row, Row, Row]] = {
    "anthropic_sdk": (
        {
            "gen_ai.operation.name": "chat",
            "anthropic.message.stop_reason": "end_turn",
            "http.request.resend_count": 2,
            "gen_ai.usage.input_tokens": 50,
            "gen_ai.usage.cache_write.input_tokens": 40,
            "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": 30,
        },
        {"scope": "com.anthropic.sdk.python", "name": "anthropic.messages.create", "kind": "client"},
        {
            "role": "llm",
            "finish_reason": "stop",
            "attempts": 3,
            "input_tokens": 50,
            "cache_write_tokens": 40,
            "cache_write_1h_tokens": 30,
        },
    ),
    "pydantic_ai": (
        {"gen_ai.usage.input_tokens": 8, "model_name": "gpt-4o", "agent_name": "quoter"},
        {"scope": "pydantic-ai", "version": "1.0.0", "name": "agent run"},
        {
            "role": "agent",
            "rollup": "sum",
            "input_tokens": 8,
            "model_requested": "gpt-4o",
            "agent_name": "quoter",
        },
    ),
    "sglang": (
        {
            "module": "sglang::request",
            "rid": "r1",
            "gen_ai.usage.prompt_tokens": 100,
            "gen_ai.usage.completion_tokens": 5,
            "gen_ai.usage.cached_tokens": 64,
            "gen_ai.response.finish_reasons": '["stop"]',
            "gen_ai.latency.time_in_queue": 0.25,
            "gen_ai.latency.time_in_model_inference": 1.5,
        },
        {"scope": "sglang server", "name": " Req 12345678"},
        {
            "role": "server",
            "input_tokens": 100,
            "cache_read_tokens": 64,
            "finish_reason": "stop",
            "queue_ns": 250_000_000,
            "work_ns": 1_500_000_000,
            "response_id": "r1",
        },
    ),
    "ms_agent_framework": (
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.response.finish_reasons": '["tool_call"]',
            "server.address": "https://api.openai.com/v1/",
        },
        {"scope": "agent_framework"},
        {
            "role": "llm",
            "finish_reason": "tool_calls",
            "asked_tool": True,
            "server_address": "api.openai.com",
        },
    ),
    "autogen": (
        {"gen_ai.operation.name": "execute_tool", "gen_ai.system": "autogen", "gen_ai.tool.name": "search"},
        {"scope": "autogen-core"},
        {"role": "tool", "provider": None, "tool_name": "search"},
    ),
    "codex_cli": (
        {
            "model": "gpt-5",
            "gen_ai.usage.input_tokens": 900,
            "gen_ai.usage.cache_read.input_tokens": 800,
            "codex.usage.total_tokens": 950,
            "gen_ai.usage.output_tokens": 50,
            "turn.id": "t1",
        },
        {"resource": {"service.name": "codex_cli_rs"}, "name": "handle_responses"},
        {
            "role": "llm",
            "operation": "response",
            "input_tokens": 900,
            "inclusivity": "proved",
            "task_key": "t1",
        },
    ),
    "haystack": (
        {
            "haystack.agent.step.llm.output": json.dumps(
                {
                    "replies": [
                        {
                            "meta": {
                                "model": "gpt-4o",
                                "finish_reason": "stop",
                                "usage": {"prompt_tokens": 70, "completion_tokens": 9},
                            }
                        }
                    ]
                }
            )
        },
        {"name": "haystack.agent.step.llm"},
        {
            "role": "llm",
            "model_response": "gpt-4o",
            "input_tokens": 70,
            "output_tokens": 9,
            "finish_reason": "stop",
        },
    ),
    "llamaindex": (
        {},
        {
            "scope": "llamaindex.opentelemetry.tracer",
            "name": "OpenAI.achat",
            "events": [("LLMChatEndEvent", {"response.raw.usage.prompt_tokens": "70"})],
        },
        {"role": "llm", "input_tokens": 70},
    ),
    "litellm": (
        {
            "gen_ai.operation.name": "chat",
            "litellm.cache_hit": True,
            "litellm.cost.total": 1e-7,
            "llm.is_streaming": "True",
        },
        {"scope": "litellm", "name": "chat gpt-4o"},
        {"role": "gateway", "cached_answer": True, "reported_cost_usd": Decimal("1e-7"), "is_stream": True},
    ),
    "openinference": (
        {"openinference.span.kind": "AGENT", "llm.token_count.prompt": 5, "llm.cost.total": 0.1},
        {"scope": "openinference.instrumentation.claude_agent_sdk"},
        {"role": "agent", "rollup": "sum", "input_tokens": 5, "reported_cost_usd": Decimal("0.1")},
    ),
    "openllmetry": (
        {"traceloop.span.kind": "agent", "gen_ai.usage.input_tokens": 5, "gen_ai.agent.id": "a1"},
        {"scope": "opentelemetry.instrumentation.crewai", "version": "0.62.4"},
        {"role": "agent", "rollup": "cumulative", "agent_id": "a1"},
    ),
    "mlflow": (
        {"mlflow.spanType": '"RETRIEVER"', "mlflow.trace.session": '"s"'},
        {},
        {"role": "retrieval", "operation": "RETRIEVER", "session_id": "s"},
    ),
    "otel_genai": (
        {"gen_ai.operation.name": "fetch_response", "gen_ai.usage.input_tokens": 5},
        {},
        {"role": "inner"},
    ),
    "unknown": (
        {"http.request.method": "POST", "http.request.resend_count": 1},
        {"kind": "client"},
        {"role": "transport", "attempts": 2},
    ),
}


@pytest.mark.parametrize("dialect", HANDMADE)
def test_each_dialect_reads_its_own_spans(dialect: str) -> None:
    """The span is claimed by its dialect, and role and figures come out canonical."""
    attributes, request, meant = HANDMADE[dialect]
    row = decode_span(attributes, **request)
    assert row["dialect"] == dialect
    assert _said(row, meant) == meant


@pytest.mark.parametrize(
    ("attributes", "tier"),
    [
        (
            {"gen_ai.openai.response.service_tier": "Flex", "gen_ai.openai.request.service_tier": "auto"},
            "flex",
        ),
        ({"openai.response.service_tier": "default", "openai.request.service_tier": "flex"}, None),
        ({"gen_ai.openai.request.service_tier": "batch"}, "batch"),
        ({"gen_ai.openai.request.service_tier": "auto"}, None),
    ],
)
def test_the_tier_that_was_sold_is_the_answers(attributes: Row, tier: str | None) -> None:
    """What the response says wins over what was asked for; the ordinary tier is none."""
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini"}
    assert decode_span(chat | attributes)["service_tier"] == tier


@pytest.mark.parametrize(
    ("attributes", "outcome"),
    [
        ({"taximeter.outcome": "Passed"}, "success"),
        ({"gen_ai.evaluation.score.label": "incorrect"}, "failure"),
        ({"gen_ai.evaluation.score.label": "so-so"}, None),
        ({}, None),
    ],
)
def test_what_was_said_of_a_task_is_a_success_or_a_failure(attributes: Row, outcome: str | None) -> None:
    """A user's label or an evaluation's counts; a word that says neither is none."""
    assert decode_span({"gen_ai.operation.name": "invoke_agent"} | attributes)["outcome"] == outcome


@pytest.mark.parametrize(
    ("attributes", "role"),
    [
        ({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}, "llm"),
        ({"gen_ai.response.model": "m", "gen_ai.usage.completion_tokens": 7}, "llm"),
        ({"gen_ai.operation.name": "responses", "gen_ai.request.model": "m"}, "llm"),
        ({"gen_ai.request.model": "m"}, "wrapper"),
        ({"gen_ai.usage.input_tokens": 7}, "wrapper"),
        ({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7, "gen_ai.agent.name": "a"}, "wrapper"),
    ],
)
def test_a_hand_written_span_with_model_and_usage_is_a_call(attributes: Row, role: str) -> None:
    """Whoever writes spans by hand names the model and its tokens, and often no operation and no kind."""
    assert decode_span(attributes, name="node.researcher")["role"] == role


@pytest.mark.parametrize(
    "key",
    ["gen_ai.usage.cost", "gen_ai.usage.cost.amount", "gen_ai.usage.cost_usd", "gen_ai.usage.total_cost"],
)
def test_a_reported_cost_has_four_spellings(key: str) -> None:
    """Each is the provider's own figure, kept beside ours."""
    row = decode_span({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", key: 0.25})
    assert row["reported_cost_usd"] == Decimal("0.25")
