"""List prices: our dated rows bill exactly what the catalogue itself would."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from taximeter.clock import to_ns
from warehouse.prices import catalogue
from warehouse.prices.rows import TokenPrice

SONNET = "claude-sonnet-4-5"
FIRST_INSTANT = datetime(2025, 1, 1, tzinfo=UTC)
SELLERS = ("anthropic", "openai", "google", "deepseek", "aws", "mistral", "x-ai")
MODELS = [
    (provider.id, model.id)
    for provider in get_snapshot().providers
    if provider.id in SELLERS
    for model in provider.models
    if catalogue.find(provider.id, model.id) is not None
]


def holding(rows: list[TokenPrice], at: datetime, prompt_tokens: int) -> TokenPrice:
    """Find the one row that prices a prompt of that size at that instant."""
    instant = to_ns(at)
    second = (instant // 1_000_000_000) % 86_400
    found = [
        row
        for row in rows
        if row.from_ns <= instant and (row.to_ns is None or instant < row.to_ns)
        if row.day_from_s is None or (row.day_to_s is not None and row.day_from_s <= second < row.day_to_s)
        if row.prompt_from_tokens <= prompt_tokens
        and (row.prompt_to_tokens is None or prompt_tokens < row.prompt_to_tokens)
    ]
    assert len(found) == 1, f"{len(found)} rows price one instant"
    return found[0]


def bill(row: TokenPrice, fresh: int, read: int, write: int, output: int) -> Decimal:
    """Bill a call whose prompt is fresh + read + write tokens; a part without a price counts as fresh."""
    cached = row.input_usd if row.cache_read_usd is None else row.cache_read_usd
    written = row.input_usd if row.cache_write_usd is None else row.cache_write_usd
    return fresh * row.input_usd + read * cached + write * written + output * row.output_usd


@settings(max_examples=150, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    at=st.integers(0, 700 * 86_400).map(lambda seconds: FIRST_INSTANT + timedelta(seconds=seconds)),
    fresh=st.integers(1, 400_000),
    read=st.integers(0, 200_000),
    write=st.integers(0, 100_000),
    output=st.integers(0, 60_000),
)
def test_rows_bill_what_the_catalogue_bills(
    model: tuple[str, str], at: datetime, fresh: int, read: int, write: int, output: int
) -> None:
    """At any instant, prompt size and split of the prompt, exactly one row holds and gives the same money."""
    provider, name = model
    found = catalogue.find(provider, name)
    assert found is not None

    usage = Usage(
        input_tokens=fresh + read + write,
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=output,
    )
    theirs = calc_price(usage, name, provider_id=provider, genai_request_timestamp=at).total_price
    row = holding(found[1], at, fresh + read + write)

    assert bill(row, fresh, read, write, output) == theirs


@pytest.mark.parametrize(("prompt_tokens", "usd_per_mtok"), [(199_999, "3"), (200_000, "3"), (200_001, "6")])
def test_a_tier_holds_for_the_whole_prompt_from_one_token_above(
    prompt_tokens: int, usd_per_mtok: str
) -> None:
    """A prompt of exactly 200,000 tokens is still billed at the base rate, one more moves all of it."""
    found = catalogue.find("anthropic", SONNET)
    assert found is not None

    row = holding(found[1], datetime(2026, 1, 1, tzinfo=UTC), prompt_tokens)

    assert row.input_usd * 1_000_000 == Decimal(usd_per_mtok)


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5[1m]", "anthropic/claude-sonnet-4-5"),
        ("anthropic", "Claude-Sonnet-4-5:thinking", "anthropic/claude-sonnet-4-5"),
        (None, "anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        (None, "openai/gpt-4o", "openai/gpt-4o"),
        ("openai", "gpt-4o-2024-08-06", "openai/gpt-4o"),
        ("codex", "gpt-5", "openai/gpt-5"),
        (
            None,
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        (
            None,
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
    ],
)
def test_spellings_find_their_row(provider: str | None, model: str, expected: str) -> None:
    """Dates, marks, case, prefixes, regions and ARNs lead to the row of the same model."""
    found = catalogue.find(provider, model)

    assert found is not None
    assert found[0] == expected


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "Qwen/Qwen3-Coder-30B"), (None, "Qwen/Qwen3-Coder-30B"), (None, "mystery-7b")],
)
def test_an_unknown_model_has_no_price(provider: str | None, model: str) -> None:
    """A model that its seller does not list is unknown, never priced as something like it."""
    assert catalogue.find(provider, model) is None
