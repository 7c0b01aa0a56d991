"""Which attributes the dialects want at all: everything else is never looked at."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from collector.decode.conditions import keys_of, prefixes_of
from collector.dialects.read import Condition, Dialect, Entry, dialects

INDICES = ("{i}", "{j}", "{k}")
_MAX_INDEX = 16  # of lists spread over keys, no more than this many elements are searched for one scalar


class Wanted(NamedTuple):
    """Keys as written in the dialect files; each in the place its prefix names."""

    keys: frozenset[str]
    patterns: frozenset[str]
    prefixes: frozenset[str]
    content_keys: frozenset[str]
    content_prefixes: frozenset[str]
    content_events: frozenset[str]


@cache
def wanted(known: tuple[Dialect, ...] | None = None) -> Wanted:
    """Collect once what any of the dialects wants; without an answer which, of those that read spans."""
    known = dialects() if known is None else known
    entries = [entry for dialect in known for entry in _entries(dialect)]
    content = [entry.key for dialect in known for part in dialect.content.values() for entry in part]
    conditions = [condition for dialect in known for condition in _conditions(dialect)]
    keys = {entry.key for entry in entries} | {key for one in conditions for key in keys_of(one)}
    return Wanted(
        keys=frozenset(key for key in keys if "{" not in key),
        patterns=frozenset(key for key in keys if "{" in key),
        prefixes=frozenset(prefix for one in conditions for prefix in prefixes_of(one)),
        content_keys=frozenset(key for key in content if not key.startswith(("prefix:", "events:"))),
        content_prefixes=frozenset(
            key.removeprefix("prefix:") for key in content if key.startswith("prefix:")
        ),
        content_events=frozenset(
            name
            for key in content
            if key.startswith("events:")
            for name in key.removeprefix("events:").split("|")
        ),
    )


def matching(pattern: str, keys: Iterable[str]) -> list[str]:
    """Find the keys that a pattern with list indices names, in the order of the indices as numbers."""
    form = re.compile(re.sub(r"\\{[ijk]\\}", r"(\\d{1,4})", re.escape(pattern)))
    found = [(tuple(map(int, match.groups())), key) for key in keys if (match := form.fullmatch(key))]
    return [key for _, key in sorted(found)[:_MAX_INDEX]]


def _entries(dialect: Dialect) -> Iterator[Entry]:
    for entries in dialect.fields.values():
        yield from entries


def _conditions(dialect: Dialect) -> Iterator[Condition]:
    yield from dialect.detect
    yield from dialect.errors
    yield from (role.when for role in dialect.roles)
    yield from (usage.when for usage in dialect.usage)
    yield from (entry.when for entry in _entries(dialect))
    yield from (entry.when for part in dialect.content.values() for entry in part)
