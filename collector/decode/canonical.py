"""Content in one form, so that equal content has equal hashes: JSON with sorted keys, or else text.

Nothing here is ever stored: only lengths and keyed hashes of it leave this package.
"""

import hmac
import json
import re
from collections.abc import Iterator
from typing import Any

_HASH_BYTES = 16
_MASKS = (
    re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"),
    re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
    re.compile(r"\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}\b"),
    re.compile(r"\d+(?:[.,:]\d+)*"),
)
_MASK = "#"
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")
_CALLS = ("tool_call", "tool_use", "function_call", "tool-call")
_CALL_KEYS = frozenset({"tool_calls", "toolCalls", "function_call", "functionCall", "toolUse", "tool_use"})
_MAX_DEPTH = 60  # of content that is meant; deeper JSON is kept as text


class Canonical:
    """One piece of content: its value, or its text where it is no JSON."""

    def __init__(self, value: Any) -> None:
        """Take a JSON value or a text; a text that is JSON is read."""
        self.value = parsed(value) if isinstance(value, str) else value
        self.text = dumped(self.value)

    @property
    def size_bytes(self) -> int:
        """Length of the canonical text in UTF-8."""
        return len(_bytes(self.text))


def parsed(text: str) -> Any:
    """Read JSON; text that is none, or too deep to be meant, stays text."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return text
    if _nesting(text) > _MAX_DEPTH:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def dumped(value: Any) -> str:
    """Write a value in its one form."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def keyed_hash(key: bytes, value: Any) -> str:
    """Hash content with the installation's key: HMAC-SHA256, the first 16 bytes in hex."""
    return hmac.digest(key, _bytes(dumped(value)), "sha256")[:_HASH_BYTES].hex()


def size_bytes(value: Any) -> int:
    """Length of the canonical text in UTF-8."""
    return len(_bytes(dumped(value)))


def shape(value: Any) -> Any:
    """Mask what differs from call to call though the call is the same: times, ids, numbers."""
    if isinstance(value, dict):
        return {name: shape(held) for name, held in value.items()}
    if isinstance(value, list):
        return [shape(held) for held in value]
    if isinstance(value, str):
        for mask in _MASKS:
            value = mask.sub(_MASK, value)
        return value
    return value if isinstance(value, bool) or value is None else 0


def asks_for_tool(value: Any) -> bool:
    """Tell whether an answer holds a call of a tool, in any of the forms that libraries write it."""
    if isinstance(value, dict):
        called = value.get("type") in _CALLS or any(value.get(key) for key in _CALL_KEYS)
        spread = any("tool_calls." in key for key in value)  # a list that is spread over numbered keys
        return called or spread or any(asks_for_tool(held) for held in value.values())
    return isinstance(value, list) and any(asks_for_tool(held) for held in value)


def at_path(value: Any, path: str) -> Any:
    """Follow a path such as `a.b[0].c`; null where it leads nowhere."""
    for step in _steps(path):
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _steps(path: str) -> Iterator[str | int]:
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        yield name or int(index)


def _nesting(text: str) -> int:
    """Say how deep a JSON text is nested; 0 stands for not deep at all."""
    if text.count("{") + text.count("[") <= _MAX_DEPTH:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "{[" else -1
        deepest = max(deepest, depth)
    return deepest


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
