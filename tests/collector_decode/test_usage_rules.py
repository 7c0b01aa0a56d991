"""What input and output figures mean: declared by dialect and version, overridden by arithmetic alone."""

from typing import Any

import pytest

from collector.decode.testing import decode_span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
IN, OUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
READ, WRITE = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"
TOTAL, REASONING = "gen_ai.usage.total_tokens", "gen_ai.usage.reasoning.output_tokens"


def _usage(attributes: dict[str, Any], **more: Any) -> tuple[Any, ...]:
    row = decode_span({**CHAT, **attributes}, **more)
    return row["input_tokens"], row["input_tokens_high"], row["output_tokens"], row["inclusivity"]


def test_a_declared_inclusive_input_is_left_alone() -> None:
    """By the conventions the input holds the cache, so nothing is added."""
    figures = {IN: 130_213, READ: 128_955, WRITE: 1_253, OUT: 100}
    assert _usage(figures) == (130_213, None, 100, "declared")


def test_an_input_smaller_than_its_cache_cannot_hold_it() -> None:
    """Five tokens with 128,955 read from the cache prove the exclusive reading."""
    figures = {IN: 5, READ: 128_955, WRITE: 1_253, OUT: 100}
    assert _usage(figures) == (130_213, None, 100, "proved")


def test_a_total_decides_between_two_readings() -> None:
    """The provider's total equals input + output + cache, or input + output, and so tells which."""
    assert _usage({IN: 5_000, READ: 3_000, OUT: 10, TOTAL: 8_010}) == (8_000, None, 10, "proved")
    assert _usage({IN: 5_000, READ: 3_000, OUT: 10, TOTAL: 5_010}) == (5_000, None, 10, "proved")


def test_a_total_that_fits_no_reading_proves_nothing() -> None:
    """A total with hidden tokens in it leaves the declaration in force."""
    assert _usage({IN: 5_000, READ: 3_000, OUT: 10, TOTAL: 5_114}) == (5_000, None, 10, "declared")


def test_what_nobody_declares_and_nothing_proves_is_a_range() -> None:
    """Raw Anthropic names under the conventions' prefix: both readings are kept, the low one in front."""
    figures = {IN: 5_000, "gen_ai.usage.cache_read_input_tokens": 3_000, OUT: 10}
    assert _usage(figures) == (5_000, 8_000, 10, "ambiguous")


def test_reasoning_outside_the_output_is_added_once() -> None:
    """A total that needs the reasoning beside the output proves that it is not inside."""
    figures = {IN: 100, OUT: 20, REASONING: 50, TOTAL: 170}
    assert _usage(figures) == (100, None, 70, "declared")
    assert _usage({IN: 100, OUT: 20, REASONING: 50})[2] == 70
    assert _usage({IN: 100, OUT: 70, REASONING: 50, TOTAL: 170})[2] == 70


def test_a_total_that_an_instrumentation_summed_proves_nothing() -> None:
    """OpenLIT adds input and output itself; of Anthropic its input leaves the cache out all the same."""
    figures = {"gen_ai.provider.name": "anthropic", IN: 5_000, READ: 3_000, OUT: 10, TOTAL: 5_010}
    assert _usage(figures, scope="openlit.instrumentation.anthropic")[:2] == (8_000, None)


@pytest.mark.parametrize(("version", "output"), [("1.18.0", 232), ("2.13.0", 22)])
def test_the_version_decides_for_google_adk(version: str, output: int) -> None:
    """ADK 1.18 leaves the thoughts out of the output; from 2.0 on they are inside, and none are added."""
    thoughts = 210 if version < "2" else 12
    response = f'{{"usage_metadata":{{"thoughts_token_count":{thoughts}}}}}'
    attributes = {IN: 800, OUT: 22, "gcp.vertex.agent.llm_response": response}
    row = decode_span(attributes, name="call_llm", scope="gcp.vertex.agent", version=version)
    assert row["output_tokens"] == output


def test_unknown_is_not_zero() -> None:
    """A figure that was sent as 0 is 0, one that was not sent is null."""
    row = decode_span({**CHAT, IN: 0, OUT: 3})
    assert (row["input_tokens"], row["cache_read_tokens"], row["total_tokens"]) == (0, None, None)


def test_the_first_key_wins_and_names_are_never_added() -> None:
    """One figure under its old and its new name is one figure."""
    row = decode_span({**CHAT, "gen_ai.usage.prompt_tokens": 7, IN: 9})
    assert row["input_tokens"] == 9
    assert '"input_tokens":"gen_ai.usage.input_tokens"' in row["sources"]


def test_a_refused_cache_figure_leaves_an_exclusive_input_unknown() -> None:
    """Where the cache must be added and cannot be read, the input is unknown, not too small."""
    attributes = {
        "span.type": "llm_request",
        "input_tokens": 5,
        "cache_read_tokens": "abc",
        "output_tokens": 1,
    }
    row = decode_span(attributes, name="claude_code.llm_request")
    assert (row["input_tokens"], row["output_tokens"]) == (None, 1)


def test_tokens_billed_beside_the_usage_are_added_once() -> None:
    """Anthropic's compaction tokens stand outside of the usage figures."""
    attributes = {**CHAT, IN: 100, OUT: 10, "anthropic.usage.compaction.input_tokens": 40}
    row = decode_span(
        attributes, name="anthropic.messages.create", scope="com.anthropic.sdk.python", kind="client"
    )
    assert (row["role"], row["input_tokens"]) == ("llm", 140)
