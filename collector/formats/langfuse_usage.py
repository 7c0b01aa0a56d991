"""What a Langfuse observation used and cost, in the two shapes that Langfuse's SDK sends.

Buckets (`input`, `input_cache_read`, `output`, `output_reasoning`) stand apart and add up; details of an
OpenInference or OpenTelemetry source (`prompt_details.cache_read`) are parts of `input` and `output`.
"""

from collections.abc import Mapping
from typing import Any

# How the name of a bucket starts, and the word for what it holds; the first that fits.
_BUCKETS = (
    ("input_cache_creation", "input_cache_creation"),
    ("input_cache", "input_cache_read"),
    ("input_", "input"),
    ("output_reasoning", "output_reasoning"),
    ("output_", "output"),
)
_WHOLES = ("input_tokens", "output_tokens")  # an older spelling of the whole, never a bucket beside it
_OLD_FIELDS = (
    ("input", "inputUsage", "promptTokens"),
    ("output", "outputUsage", "completionTokens"),
    ("total", "totalUsage", "totalTokens"),
)


def read_usage(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read an observation's usage; None where it tells of none (Langfuse writes zeros there)."""
    told = row.get("usageDetails")
    if not isinstance(told, dict) or not told:
        return _old_usage(row)
    if any("_details." in name for name in told):
        return _with_parts(told)
    return _with_buckets(told)


def read_cost(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read an observation's cost in USD; None where Langfuse worked out none."""
    told = row.get("costDetails")
    if isinstance(told, dict) and told.get("total") is not None:
        return {"total": told["total"]}
    total = row.get("totalCost") or row.get("calculatedTotalCost")
    return {"total": total} if total else None


def _old_usage(row: Mapping[str, Any]) -> dict[str, Any] | None:
    usage = row.get("usage")
    if isinstance(usage, dict):
        if usage.get("unit") not in (None, "TOKENS"):
            return None
        found = {name: usage.get(name) for name, *_ in _OLD_FIELDS}
    else:
        found = {name: row.get(new) or row.get(old) for name, new, old in _OLD_FIELDS}
    known = {name: value for name, value in found.items() if value is not None}
    return known if any(known.values()) else None


def _with_parts(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": told.get("input"),
        "completion_tokens": told.get("output"),
        "total_tokens": told.get("total"),
        "prompt_tokens_details": {"cached_tokens": told.get("prompt_details.cache_read")},
        "completion_tokens_details": {"reasoning_tokens": told.get("completion_details.reasoning")},
    }


def _with_buckets(told: Mapping[str, Any]) -> dict[str, Any]:
    """Gather the buckets under the words that decode knows; audio, say, was read or written all the same."""
    if "input" not in told:
        return dict(told)
    usage: dict[str, Any] = {}
    for name, amount in told.items():
        word = next((word for start, word in _BUCKETS if name.startswith(start)), name)
        word = name if name in _WHOLES else word
        is_sum = isinstance(amount, int) and isinstance(usage.get(word, 0), int)
        usage[word] = usage.get(word, 0) + amount if is_sum else amount
    return usage
