"""What a Langfuse observation used and cost, in the two shapes that Langfuse's SDK sends.

Buckets (`input`, `input_cache_read`, `output`, `output_reasoning`) stand apart and add up; details of an
OpenInference or OpenTelemetry source (`prompt_details.cache_read`) are parts of `input` and `output`.
"""

from collections.abc import Mapping
from typing import Any

_CACHE_BUCKETS = {"input_cache_read", "input_cached_tokens", "input_cache_creation"}
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
    if any(".details" in name or "_details." in name for name in told):
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
    """Buckets that have no word of ours (audio, say) are part of what was read or written all the same."""
    usage = dict(told)
    for whole in ("input", "output"):
        others = [name for name in told if name.startswith(f"{whole}_") and _is_other(name)]
        amounts = [told[name] for name in others if isinstance(told[name], int)]
        if whole in told and isinstance(told[whole], int):
            usage[whole] = told[whole] + sum(amounts)
        for name in others:
            del usage[name]
    return usage


def _is_other(name: str) -> bool:
    return name not in _CACHE_BUCKETS and not name.endswith(("_tokens", "_reasoning", "_details"))
