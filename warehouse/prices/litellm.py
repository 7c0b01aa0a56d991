"""Reads LiteLLM's table of model prices (JSON, USD per token) as rows of the user's price file."""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from taximeter.errors import BadInputError
from warehouse.prices.rows import PER_MILLION

_PARTS = {
    "input": "input_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    "output": "output_cost_per_token",
}
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_SERVICE_TIERS = {"": None, "_batches": "batch", "_flex": "flex", "_priority": "priority"}
_TEXT_MODES = {"chat", "completion", "responses", "embedding"}


def read(text: str, pattern: str, dated: str, source: str) -> tuple[list[dict[str, object]], list[str]]:
    """Read the models whose name fits a glob; names of the table are given with and without their prefix.

    Args:
        text: the JSON document.
        pattern: glob of model names, such as `claude-*`.
        dated: the day from which the prices hold; the table has none.
        source: where the table comes from.

    Returns:
        Rows for `tokens`, and one line for each model that was refused.

    Raises:
        BadInputError: this is no table of model prices.
    """
    try:
        table = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        table = None
    if not isinstance(table, dict) or not all(isinstance(entry, dict) for entry in table.values()):
        message = "this JSON is no table of model prices: it must map model names to their prices"
        raise BadInputError(message)
    rows: list[dict[str, object]] = []
    refused: list[str] = []
    for name, entry in table.items():
        if name == "sample_spec" or not fnmatchcase(name.lower(), pattern.lower()):
            continue
        if fault := _fault(entry):
            refused.append(f"{name}: {fault}")
            continue
        rows += _rows(name, entry, dated, source)
    return rows, refused


def _fault(entry: Mapping[str, Any]) -> str | None:
    if entry.get("mode") not in _TEXT_MODES:
        return f"it is sold by something else than tokens of text ({entry.get('mode')})"
    if "tiered_pricing" in entry:
        return "its prices stand in tiered_pricing, which does not say for which part of a prompt they hold"
    prices = [entry.get(_PARTS["input"]), _output(entry)]
    if not all(isinstance(price, Decimal) and price >= 0 for price in prices):
        return "it has no price for input and output"
    if prices == [0, 0]:
        return "it costs nothing, which a table says of what it does not know"
    return None


def _output(entry: Mapping[str, Any]) -> Decimal | None:
    """Read the price of output; embeddings sell none, and what does not exist costs nothing."""
    price: Decimal | None = entry.get(_PARTS["output"])
    return Decimal(0) if price is None and entry.get("mode") == "embedding" else price


def _rows(name: str, entry: Mapping[str, Any], dated: str, source: str) -> Iterator[dict[str, object]]:
    provider = entry.get("litellm_provider")
    head = {"model": name.removeprefix(f"{provider}/"), "provider": provider, "from": dated, "source": source}
    starts = sorted(int(match[1]) * 1_000 for key in entry if (match := _TIER.fullmatch(key)))
    for mark, service_tier in _SERVICE_TIERS.items():
        if not isinstance(entry.get(_PARTS["input"] + mark), Decimal):
            continue
        sold: dict[str, object] = {"service_tier": service_tier} if service_tier else {}
        for start in [0, *starts]:
            size = f"_above_{start // 1_000}k_tokens" if start else ""
            usd = {
                f"{part}_usd_per_mtok": _per_million(entry.get(key + size + mark, entry.get(key + mark)))
                for part, key in _PARTS.items()
            }
            if usd["output_usd_per_mtok"] is None:
                usd["output_usd_per_mtok"] = "0"
            # A tier above 200,000 tokens holds from 200,001 on, for the whole prompt.
            tier: dict[str, object] = {"prompt_from_tokens": start + 1} if start else {}
            yield {**head, **sold, **tier, **{key: price for key, price in usd.items() if price is not None}}


def _per_million(usd: Decimal | None) -> str | None:
    return None if usd is None else f"{(usd * PER_MILLION).normalize():f}"
