"""What real people recorded comes out with the numbers that were worked out apart from us."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

Recorded = Callable[[str], Path]
# Langfuse priced these by other prices, or without the output: `oracle.json` gives what the list price makes.
_OWN_PRICES = ("autogen", "google-vertex-tools", "vertex-ai")
# Its outputs were never recorded. Langfuse prices the inputs alone, which is no cost of these calls.
_NO_OUTPUTS = "beeai-2025-08-01"
# The agent library and the client below it both told of every call; Langfuse adds both.
_TOLD_TWICE = "agno-2025-06-11"


def _usd(amount: float) -> Decimal:
    """Langfuse's sums carry the noise of binary fractions: at 1e-9 USD they are what was meant."""
    return Decimal(str(amount)).quantize(Decimal("1e-9"))


def test_every_recorded_session_has_the_calls_tools_and_tokens_of_the_oracle(
    warehouse_of: Any, recorded: Recorded
) -> None:
    """87 sessions: 74 of a local model with 3,516 calls, 13 with prompt caching, some with sub-agents."""
    folder = recorded("agentcgroup-coding-agents")
    oracle = json.loads((folder / "oracle.json").read_text())

    with warehouse_of(*sorted(folder.glob("*/*/trace.jsonl.gz")), in_one_block=True) as warehouse:
        found = warehouse.sql(
            "select llm_calls, tool_calls, input_tokens, coalesce(cache_read_tokens, 0), "
            "coalesce(cache_write_tokens, 0), output_tokens from tasks order by all"
        )
        calls = "select count(*), sum(input_tokens), sum(output_tokens) from steps where model "
        local = warehouse.sql(calls + "like 'unsloth%'")
        tools = warehouse.sql(
            "select count(*), sum(end_ns - start_ns), count(*) filter (where status = 'error') "
            "from spans where role = 'tool' and trace_id in "
            "(select trace_id from spans where model_response like 'unsloth%')"
        )
        agents = warehouse.sql(
            "select agent, count(*) from steps where kind = 'llm' and model like 'claude%' "
            "group by all order by 1"
        )
        assert warehouse.check_laws() == []

    names = ("llm_calls", "tool_calls", "context_sum", "cache_read_tokens", "cache_creation_tokens")
    names += ("output_tokens",)
    assert found == sorted(tuple(task[name] for name in names) for task in oracle["tasks"])
    assert local == [(3516, 151_128_990, 885_653)]
    assert tools == [(3976, 11_866_644_000_000, 542)]
    assert agents == [("claude-code", 159), ("general-purpose", 28)]


def test_the_aider_log_has_the_calls_tokens_and_cost_of_the_oracle(
    warehouse_of: Any, recorded: Recorded
) -> None:
    """3,703 calls: tokens and recorded cost per model; the 354 that aider could not price are unknown."""
    folder = recorded("aider-usage-log")
    oracle = json.loads((folder / "oracle.json").read_text())

    with warehouse_of(folder) as warehouse:
        ((calls, inputs, outputs, cost, costs, length_ns),) = warehouse.sql(
            "select count(*), sum(input_tokens), sum(output_tokens), sum(reported_cost_usd), "
            "count(reported_cost_usd), sum(end_ns - start_ns) from spans"
        )
        models = warehouse.sql(
            "select model_requested, count(*), sum(input_tokens), sum(output_tokens), "
            "coalesce(sum(reported_cost_usd), 0) from spans group by all"
        )
        sonnet = warehouse.sql(
            "select sum(token_cost_usd) / sum(reported_cost_usd) from steps "
            "where model like 'claude-3-5-sonnet-2024%'"
        )
        assert warehouse.check_laws() == []

    assert (calls, inputs, outputs) == tuple(
        oracle[name] for name in ("llm_calls", "prompt_tokens", "completion_tokens")
    )
    assert (costs, length_ns) == (3703 - 354, oracle["sum_duration_s"] * 1_000_000_000)
    assert _usd(cost) == _usd(oracle["recorded_cost_usd"])
    known = {model: figures for model, *figures in models}
    for row in oracle["by_model_top12"]:
        *counts, usd = known[row["model"]]
        assert counts == [row["calls"], row["prompt_tokens"], row["completion_tokens"]]
        assert _usd(usd) == _usd(row["recorded_cost_usd"])
    assert abs(float(sonnet[0][0]) - 1) < 0.0005


def test_langfuse_calls_have_their_tokens_and_our_money_is_langfuses_own(
    warehouse_of: Any, recorded: Recorded
) -> None:
    """Tokens per call are the recorded ones, of OTLP payloads too; at list prices our money is Langfuse's."""
    folder = recorded("langfuse-framework-traces")
    oracle = json.loads((folder / "oracle.json").read_text())

    with warehouse_of(folder) as warehouse:
        calls = warehouse.sql("select span_id, input_tokens, output_tokens from spans where role = 'llm'")
        money = {
            trace: (cost, reported)
            for trace, cost, reported in warehouse.sql(
                "select trace_ids[1], token_cost_usd, reported_cost_usd from tasks"
            )
        }
        payloads = warehouse.sql(
            "select dialect, model_requested, input_tokens, output_tokens from spans "
            "where role = 'llm' and (dialect <> 'langfuse' or scope_name = 'langfuse-sdk') order by 1"
        )
        assert warehouse.check_laws() == []

    assert payloads == [
        ("langfuse", "gpt-4o", 123, 456),
        ("openlit", "gpt-3.5-turbo", 14, 96),
        ("openllmetry", "gpt-3.5-turbo", 14, 173),
    ]
    assert len(calls) == sum(row["llm_calls"] for row in oracle) + len(payloads)
    # The one trace without an id of OpenTelemetry.
    assert (Decimal("0.0003975"), Decimal("0.00011")) in money.values()
    for row in oracle:
        document = json.loads((folder / "traces" / f"{row['trace']}.trace.json").read_text())
        _check_calls(document, {span_id: tuple(tokens) for span_id, *tokens in calls})
        if row["trace"].startswith("google-vertex-tools"):
            continue
        cost, reported = money[document["trace"]["id"]]
        if row["trace"] == _NO_OUTPUTS:
            assert (cost, _usd(reported)) == (None, _usd(row["total_cost_usd"]))
        elif row["trace"] == _TOLD_TWICE:
            assert _usd(cost) == _usd(reported) == Decimal("0.0007113")
        elif row["trace"].startswith(_OWN_PRICES):
            assert _usd(cost) == _usd(row["genai_prices_0_2_3_cost_usd"]) != _usd(reported)
        else:
            assert _usd(cost) == _usd(reported) == _usd(row["total_cost_usd"])


def _check_calls(document: dict[str, Any], calls: dict[str, tuple[Any, ...]]) -> None:
    for row in document["observations"]:
        told = row.get("usageDetails")
        if row["type"] == "GENERATION" and told:
            output = None if "output" not in told else told["output"] + told.get("output_reasoning", 0)
            assert calls[row["id"]] == (told["input"], output), row["id"]
