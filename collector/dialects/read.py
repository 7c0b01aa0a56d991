"""The one reader of the dialect files: TOML to typed, checked tuples; format.md explains every key."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent
_NOT_DIALECTS = {"common", "words"}
_CONDITION_KEYS = {
    "scope",
    "scope_prefix",
    "scope_has",
    "has_scope",
    "name",
    "name_prefix",
    "name_suffix",
    "version_prefix",
    "version_lacks",
    "schema_url",
    "kind",
    "present",
    "and_present",
    "absent",
    "has_prefix",
    "attr",
    "attr_prefix",
    "attr_suffix",
    "attr_has",
    "role",
}

Condition = Mapping[str, Any]  # every part must hold; empty holds always
_ALWAYS: Condition = MappingProxyType({})


class Entry(NamedTuple):
    """One place where a field may stand."""

    key: str  # attribute key, `event:NAME key`, `resource:key`, or with `{i}` for a list index
    path: str | None = None  # path inside the JSON text that the key holds
    on: tuple[str, ...] = ()  # roles that may carry it; any if empty
    reader: str = "text"
    unit: str = ""  # of durations: s ms us ns, or instant
    when: Condition = _ALWAYS

    @property
    def label(self) -> str:
        """The entry as a person writes it."""
        return f"{self.key} > {self.path}" if self.path else self.key


class Role(NamedTuple):
    """A role, and when a span has it."""

    role: str
    when: Condition
    operation: str | None = None  # what to call the operation, where the source has no good word
    rollup: str | None = None  # what usage on such a span means: sum last cumulative copy


class Usage(NamedTuple):
    """What the figures of a source mean; None where nobody can know."""

    when: Condition
    input_includes_cache: bool | None
    output_includes_reasoning: bool | None
    total_proves: bool  # whether the total is the provider's own, so that arithmetic with it proves anything


class Attempts(NamedTuple):
    """Span events that tell of single tries: their name, their number, their error."""

    event: str
    number: str
    zero_based: bool
    errors: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dialect:
    """One dialect file; each is read once, so it is equal to itself alone and may key a cache."""

    id: str
    order: int
    detect: tuple[Condition, ...]
    roles: tuple[Role, ...]
    default_role: str
    usage: tuple[Usage, ...]
    errors: tuple[Condition, ...]  # besides the span's status
    fields: Mapping[str, tuple[Entry, ...]]
    content: Mapping[str, tuple[Entry, ...]]
    attempts: Attempts | None
    stop_is_final: bool  # whether the finish reason stop rules out that a tool was asked for


class Words(NamedTuple):
    """Words that are mapped or thrown away."""

    finish_reasons: Mapping[str, str]
    frameworks: frozenset[str]
    no_call_id: frozenset[str]
    ordinary_tiers: frozenset[str]
    outcomes: Mapping[str, str]


@cache
def dialects() -> tuple[Dialect, ...]:
    """Read all dialects in the order of detection; the last one, `unknown`, takes every span that is left.

    Raises:
        ValueError: a file uses a key that means nothing, so it would silently do nothing.
    """
    return tuple(sorted((_dialect(*one) for one in files()), key=lambda dialect: dialect.order))


@cache
def words() -> Words:
    """Read the words."""
    held = _load("words")
    frameworks, no_call_id, ordinary_tiers = (
        frozenset(held[name]) for name in ("frameworks", "no_call_id", "ordinary_tiers")
    )
    return Words(held["finish_reasons"], frameworks, no_call_id, ordinary_tiers, held["outcomes"])


def files() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read every dialect file: its id, and what it holds."""
    for path in sorted(_FOLDER.glob("*.toml")):
        if path.stem not in _NOT_DIALECTS:
            yield path.stem, _load(path.stem)


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _dialect(name: str, held: Mapping[str, Any]) -> Dialect:
    return make_dialect(name, held, _load(held["inherits"]) if "inherits" in held else {})


def make_dialect(name: str, held: Mapping[str, Any], parent: Mapping[str, Any]) -> Dialect:
    """Make a dialect of what its file holds; fields and content of the parent count where it has none.

    Raises:
        ValueError: a key means nothing.
    """
    common = _load("common")
    own = {**parent.get("fields", {}), **held.get("fields", {})}
    content = {**parent.get("content", {}), **held.get("content", {})}
    attempts = held.get("attempts")
    return Dialect(
        id=name,
        order=held["order"],
        detect=tuple(_condition(condition) for condition in held["detect"]),
        roles=tuple(_role(role) for role in held.get("role", [])),
        default_role=held["default_role"],
        usage=tuple(_usage(usage) for usage in held.get("usage", [])),
        errors=tuple(_condition(condition) for condition in held.get("errors", [])),
        fields={
            field: tuple(_entry(entry) for entry in [*own.get(field, []), *common["fields"].get(field, [])])
            for field in {**common["fields"], **own}
        },
        content={field: tuple(map(_entry, entries)) for field, entries in content.items()},
        attempts=_attempts(attempts) if attempts else None,
        stop_is_final=held.get("stop_is_final", True),
    )


def _condition(held: Mapping[str, Any]) -> Condition:
    unknown = set(held) - _CONDITION_KEYS
    if unknown:
        message = f"a dialect asks for {sorted(unknown)}, which no condition knows"
        raise ValueError(message)
    return held


def _entry(held: str | Mapping[str, Any]) -> Entry:
    if isinstance(held, str):
        held = {"key": held}
    key, _, path = held["key"].partition(" > ")
    return Entry(
        key=key,
        path=path or None,
        on=tuple(held.get("on", ())),
        reader=held.get("as", "text"),
        unit=held.get("unit", ""),
        when=_condition(held.get("when", {})),
    )


def _role(held: Mapping[str, Any]) -> Role:
    return Role(held["role"], _condition(held.get("when", {})), held.get("operation"), held.get("rollup"))


def _usage(held: Mapping[str, Any]) -> Usage:
    def meaning(key: str) -> bool | None:
        value = held.get(key, True)
        return None if value == "unknown" else bool(value)

    return Usage(
        _condition(held.get("when", {})),
        meaning("input_includes_cache"),
        meaning("output_includes_reasoning"),
        held.get("total_proves", True),
    )


def _attempts(held: Mapping[str, Any]) -> Attempts:
    return Attempts(
        held["event"], held["number"], held.get("zero_based", False), tuple(held.get("errors", ()))
    )
