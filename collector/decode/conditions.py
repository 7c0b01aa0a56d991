"""Conditions of the dialect files as expressions over the wide frame, and what they need to be there."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from operator import and_, or_
from typing import Any

import polars as pl

from collector.dialects.read import Condition

# Columns of the wide frame that are no attributes start with "@".
HAS_PREFIX = "@has:"
_NOTHING = pl.lit(None, dtype=pl.String)
_PRESENT = ("present", "and_present")  # of each list any key must be there


def holds(condition: Condition, columns: Collection[str]) -> pl.Expr:
    """Tell per row whether every part of a condition holds; never null."""
    if not may_hold(condition, columns):
        return pl.lit(False)
    parts = [part for key, value in condition.items() for part in _parts(key, value, columns)]
    return reduce(and_, parts, pl.lit(True)).fill_null(False)


def any_holds(conditions: Iterable[Condition], columns: Collection[str]) -> pl.Expr:
    """Tell per row whether one of the conditions holds; of none, nothing does."""
    possible = [condition for condition in conditions if may_hold(condition, columns)]
    return reduce(or_, [holds(condition, columns) for condition in possible], pl.lit(False))


def may_hold(condition: Condition, columns: Collection[str]) -> bool:
    """Tell whether any row of a frame with these columns could meet a condition.

    Most dialects look at attributes that a block does not have: what cannot hold need not be computed.
    """
    for key, value in condition.items():
        if key in _ON_ATTRIBUTE:
            wanted = set(value)
        elif key in _PRESENT:
            wanted = set(_many(value))
        elif key == "has_prefix":
            wanted = {HAS_PREFIX + prefix for prefix in _many(value)}
        else:
            continue
        there = wanted.intersection(columns)
        if not there or (key in _ON_ATTRIBUTE and there != wanted):
            return False
    return True


def keys_of(condition: Condition) -> set[str]:
    """Name the attributes that a condition looks at."""
    keys = {key for part in _ON_ATTRIBUTE for key in condition.get(part, {})}
    return keys.union(*(_many(condition.get(part, [])) for part in (*_PRESENT, "absent")))


def prefixes_of(condition: Condition) -> set[str]:
    """Name the key prefixes that a condition looks at."""
    return set(_many(condition.get("has_prefix", [])))


def _parts(key: str, value: Any, columns: Collection[str]) -> Iterator[pl.Expr]:
    if key in _ON_COLUMN:
        column, test = _ON_COLUMN[key]
        yield test(pl.col(column), value)
    elif key in _ON_ATTRIBUTE:
        for attribute, wanted in value.items():
            yield _ON_ATTRIBUTE[key](_column(attribute, columns), wanted)
    elif key in _PRESENT:
        yield _any_present(value, columns)
    elif key == "absent":
        yield ~_any_present(value, columns)
    else:  # has_prefix
        flags = [HAS_PREFIX + prefix for prefix in _many(value)]
        yield reduce(or_, [pl.col(flag) for flag in flags if flag in columns], pl.lit(False))


def _column(key: str, columns: Collection[str]) -> pl.Expr:
    return pl.col(key) if key in columns else _NOTHING


def _any_present(keys: Any, columns: Collection[str]) -> pl.Expr:
    there = [pl.col(key).is_not_null() for key in _many(keys) if key in columns]
    return reduce(or_, there, pl.lit(False))


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _equals(column: pl.Expr, wanted: Any) -> pl.Expr:
    return column.is_in(_many(wanted)).fill_null(False)


def _starts(column: pl.Expr, wanted: Any) -> pl.Expr:
    return reduce(or_, [column.str.starts_with(prefix) for prefix in _many(wanted)]).fill_null(False)


def _ends(column: pl.Expr, wanted: Any) -> pl.Expr:
    return reduce(or_, [column.str.ends_with(suffix) for suffix in _many(wanted)]).fill_null(False)


def _contains(column: pl.Expr, wanted: Any) -> pl.Expr:
    return reduce(or_, [column.str.contains(part, literal=True) for part in _many(wanted)]).fill_null(False)


def _lacks(column: pl.Expr, wanted: Any) -> pl.Expr:
    return ~_contains(column, wanted)


def _is_there(column: pl.Expr, wanted: Any) -> pl.Expr:
    there = column.is_not_null()
    return there if wanted else ~there


_Test = Callable[[pl.Expr, Any], pl.Expr]
_ON_COLUMN: dict[str, tuple[str, _Test]] = {
    "scope": ("@scope_name", _equals),
    "scope_prefix": ("@scope_name", _starts),
    "scope_has": ("@scope_name", _contains),
    "has_scope": ("@scope_name", _is_there),
    "name": ("@name", _equals),
    "name_prefix": ("@name", _starts),
    "name_suffix": ("@name", _ends),
    "version_prefix": ("@scope_version", _starts),
    "version_lacks": ("@scope_version", _lacks),
    "schema_url": ("@schema_url", _is_there),
    "kind": ("@span_kind", _equals),
    "role": ("@role", _equals),
}
_ON_ATTRIBUTE: dict[str, _Test] = {
    "attr": _equals,
    "attr_prefix": _starts,
    "attr_suffix": _ends,
    "attr_has": _contains,
}
