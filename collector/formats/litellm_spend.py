"""LiteLLM's spend rows (the table LiteLLM_SpendLogs) as JSON or CSV: every row becomes a call.

Rows of one trace id, else of one session id, are one task. Times without a zone are UTC, as the table holds
them. LiteLLM writes 0 for what it does not know: the usage of a failed call, the price of an unknown model.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from collector.formats.documents import Document
from collector.formats.made import Made, Source, instant_ns, span_id_of, to_requests, trace_id_of
from collector.formats.parts import Bad, Part
from taximeter.errors import BadInputError

_SOURCE = Source("litellm", "taximeter.import.litellm_spend")
_KEYS = {"request_id", "spend", "prompt_tokens", "completion_tokens", "startTime"}
_RECORDS = {"embedding": "embedding", "aembedding": "embedding", "call_mcp_tool": "tool"}
_TEXTS = ("call_type", "model", "model_group", "custom_llm_provider", "end_user", "user", "session_id")
_NAMES = ("mcp_namespaced_tool_name", "model_group", "model")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = (
    ("usage_object", "prompt_tokens_details", "cached_tokens"),
    ("usage_object", "cache_read_input_tokens"),
    ("usage_object", "cache_creation_input_tokens"),
    ("usage_object", "completion_tokens_details", "reasoning_tokens"),
    ("additional_usage_values", "cache_read_input_tokens"),
    ("additional_usage_values", "cache_creation_input_tokens"),
    ("attempted_retries",),
)
_TRACE_KEYS = ("trace_id", "litellm_trace_id")
_FLAGS = {"true": True, "t": True, "false": False, "f": False}
_PORTS = {"https": 443, "http": 80}
_MAX_FIELD_CHARS = 256 * 1024 * 1024


def is_litellm_spend(seen: Mapping[str, Any]) -> bool:
    """Tell by keys whether a JSON file holds spend rows, bare or under `data`."""
    rows = seen.get("data")
    return seen.keys() >= _KEYS or (isinstance(rows, dict) and rows.keys() >= _KEYS)


def is_litellm_csv(head: bytes) -> bool:
    """Tell by its first line whether a CSV file holds spend rows."""
    first = head.removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    text = first[0].decode("utf-8", "replace") if first else ""
    return set(next(csv.reader([text]), [])) >= _KEYS


def read_litellm_spend(documents: Iterable[Document | Bad]) -> Iterator[Part | Bad]:
    """Turn spend rows into requests; a row without id or time is told and passed over."""
    yield from to_requests(_SOURCE, (_span(document) for document in documents))


def read_csv_documents(file: BinaryIO) -> Iterator[Document | Bad]:
    """Hand on the rows of a CSV file as documents; empty cells are left out.

    Raises:
        BadInputError: a row that is no CSV, or a file that is not UTF-8.
    """
    csv.field_size_limit(_MAX_FIELD_CHARS)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        for number, row in enumerate(csv.DictReader(text), 1):
            held = {name: cell for name, cell in row.items() if name is not None and cell not in ("", None)}
            yield Document(f"row {number}", held)
    except (csv.Error, UnicodeDecodeError) as error:
        message = f"not CSV in UTF-8: {error}"
        raise BadInputError(message) from None
    finally:
        text.detach()  # the file is the caller's to close


def _span(document: Document | Bad) -> Made | Bad:
    if isinstance(document, Bad):
        return document
    row = document.value
    try:
        start_ns = instant_ns(row["startTime"])
        end_ns = instant_ns(row["endTime"]) if row.get("endTime") else start_ns
        key = str(row["request_id"])
    except (KeyError, ValueError, OverflowError):
        return Bad(document.where, "a spend row without id or time")
    metadata = _opened(row.get("metadata"))
    task = _task(row, metadata) or key
    failed = row.get("status") == "failure"
    attributes = _attributes(row, metadata, failed=failed)
    what = next((row[name] for name in _NAMES if row.get(name)), "")
    return Made(
        trace_id=trace_id_of(_SOURCE.scope, task),
        span_id=span_id_of(_SOURCE.scope, key),
        parent_id=b"",
        name=f"{row.get('call_type') or 'call'} {what}".strip(),
        start_ns=start_ns,
        end_ns=end_ns,
        attributes={"request_id": key, **attributes},
        failed=failed,
    )


def _task(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
    named = [held.get(key) for held in (row, metadata) for key in _TRACE_KEYS]
    return next((name for name in [*named, row.get("session_id")] if name), None)


def _attributes(row: Mapping[str, Any], metadata: Mapping[str, Any], *, failed: bool) -> dict[str, Any]:
    cached = _FLAGS.get(str(row.get("cache_hit")).lower())
    counts = {name: _number(row.get(name)) for name in _COUNTS}
    if failed and not any(counts.values()):
        counts = {}
    spend = _number(row.get("spend"))
    is_unknown = spend == 0 and not cached and any(counts.values())
    return {
        "record": _RECORDS.get(str(row.get("call_type")), "call"),
        **{name: row.get(name) or None for name in _TEXTS},
        **counts,
        **{".".join(("metadata", *path)): _at(metadata, path) for path in _DETAILS},
        "spend": None if is_unknown or (failed and spend == 0) else spend,
        "cache_hit": cached,
        "completionStartTime": _first_token(row),
        "error_type": _error(metadata) if failed else None,
        "tool_use.name": row.get("mcp_namespaced_tool_name") or None,
        "messages": _opened(row.get("messages")) or None,
        "response": _opened(row.get("response")) or None,
        **_address(row.get("api_base")),
    }


def _first_token(row: Mapping[str, Any]) -> Any:
    """The time of the first token; LiteLLM writes the end's time where it did not stream."""
    first = row.get("completionStartTime")
    return first if first and first != row.get("endTime") else None


def _error(metadata: Mapping[str, Any]) -> str:
    told = metadata.get("error_information")
    found = (told.get("error_class") or told.get("error_code")) if isinstance(told, dict) else None
    return str(found or "failure")


def _address(api_base: Any) -> dict[str, Any]:
    try:
        parts = urlsplit(str(api_base or ""))
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return {}
    return {"server.address": parts.hostname, "server.port": port} if parts.hostname else {}


def _number(value: Any) -> Any:
    """A cell of a CSV file as the number it says; text that is none stays, for decode to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return value


def _opened(value: Any) -> Any:
    """Read a cell that holds JSON; what holds none is an empty object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict | list) else {}


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
