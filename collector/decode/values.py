"""How a field's text is taken from the place that a dialect names for it."""

import ast
import json
from collections.abc import Callable, Collection
from datetime import datetime

import polars as pl

from collector.decode.conditions import holds
from collector.decode.wanted import matching
from collector.dialects.read import Entry
from taximeter.clock import to_ns

_MAX_REPR_BYTES = 4_096  # a dict of token details is far shorter


def text_of(entry: Entry, columns: Collection[str]) -> pl.Expr | None:
    """Make the expression that reads an entry as text, null where absent; None if no row can have it."""
    raw = _raw(entry.key, columns)
    if raw is None:
        return None
    if entry.reader in _PREPARE:
        raw = _PREPARE[entry.reader](raw)
    if entry.path:
        raw = raw.str.json_path_match(f"$.{entry.path}")
    if entry.reader in _FINISH:
        raw = _FINISH[entry.reader](raw)
    condition = dict(entry.when)
    if entry.on:
        condition["role"] = list(entry.on)
    there = (raw.str.len_bytes() > 0) & holds(condition, columns)
    return pl.when(there).then(raw)


def _raw(key: str, columns: Collection[str]) -> pl.Expr | None:
    if key == "span.name":
        return pl.col("@name")
    if "{" in key:
        found = matching(key, columns)
        return pl.coalesce(found) if found else None
    return pl.col(key) if key in columns else None


def _mapped(text: pl.Expr, change: Callable[[str], str | None]) -> pl.Expr:
    """Change each different text once."""

    def change_all(series: pl.Series) -> pl.Series:
        changed = {one: change(one) for one in series.drop_nulls().unique()}
        return pl.Series([None if one is None else changed[one] for one in series], dtype=pl.String)

    return text.map_batches(change_all, return_dtype=pl.String)


def _python_to_json(text: str) -> str | None:
    """Read the repr of a Python dict, which some exporters send for JSON; anything else is null."""
    if len(text) > _MAX_REPR_BYTES:
        return None
    try:
        return json.dumps(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _instant_to_ns(text: str) -> str | None:
    """Read ISO 8601 with a zone, perhaps quoted again, as nanoseconds in text."""
    try:
        return str(to_ns(datetime.fromisoformat(text.strip().strip('"'))))
    except ValueError:
        return None


def _json_scalar(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.starts_with('"')).then(text.str.json_path_match("$")).otherwise(text)


def _before_dot(text: pl.Expr) -> pl.Expr:
    return text.str.replace(r"\..*$", "")


_PREPARE: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "python": lambda text: _mapped(text, _python_to_json),
    "json_scalar": _json_scalar,
}
_FINISH: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "before_dot": _before_dot,
    "instant": lambda text: _mapped(text, _instant_to_ns),
}
READERS = frozenset({"text", *_PREPARE, *_FINISH})
