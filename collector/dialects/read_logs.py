"""The log sections of the dialect files: which log records tell of a call, and where each figure stands.

A section is read like a dialect of its own; its rules look at the record's name and attributes alone.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from collector.dialects.read import Condition, Dialect, files, make_dialect

_RULE_KEYS = {"name", "attr", "attr_prefix", "present"}
_IDS = ("session_id", "task_key", "tool_call_id", "response_id")


class LogSection(NamedTuple):
    """What a dialect knows of log records."""

    prefix: str  # how the names of its events begin
    services: tuple[str, ...]  # services that leave the prefix out of `event.name`
    dialect: Dialect

    def full_name(self, name: str, service: str) -> str | None:
        """Tell the whole name of an event; none if the event is another library's."""
        if name.startswith(self.prefix):
            return name
        return self.prefix + name if service.startswith(self.services or ("\0",)) else None

    def tells_of_call(self, name: str, attributes: Mapping[str, Any]) -> bool:
        """Tell whether an event of that whole name is a model call or a tool call."""
        return any(_meets(rule.when, name, attributes) for rule in self.dialect.roles)


@cache
def log_sections() -> tuple[LogSection, ...]:
    """Read the sections, in the order of detection of their dialects.

    Raises:
        ValueError: a section asks for what no log record has, or its ids do not stand in plain attributes.
    """
    made = [_section(name, held) for name, held in files() if "logs" in held]
    return tuple(sorted(made, key=lambda section: section.dialect.order))


@cache
def log_dialects() -> tuple[Dialect, ...]:
    """Give the sections as dialects."""
    return tuple(section.dialect for section in log_sections())


def _section(name: str, held: Mapping[str, Any]) -> LogSection:
    logs = held["logs"]
    detect = [{"name_prefix": logs["prefix"]}]
    dialect = make_dialect(
        name, {"order": held["order"], "default_role": "noise", **logs, "detect": detect}, {}
    )
    asked = {key for rule in dialect.roles for key in rule.when} - _RULE_KEYS
    inside = [entry for field in _IDS for entry in dialect.fields.get(field, ()) if entry.path or entry.on]
    if asked or inside:
        message = f"the log section of {name} asks for {sorted(asked)} {[entry.label for entry in inside]}"
        raise ValueError(message)
    return LogSection(logs["prefix"], tuple(logs.get("services", ())), dialect)


def _meets(condition: Condition, name: str, attributes: Mapping[str, Any]) -> bool:
    return (
        name in _many(condition.get("name", name))
        and all(_said(attributes, key) in _many(held) for key, held in condition.get("attr", {}).items())
        and all(
            _said(attributes, key).startswith(tuple(_many(held)))
            for key, held in condition.get("attr_prefix", {}).items()
        )
        and all(_said(attributes, key) for key in _many(condition.get("present", [])))
    )


def _said(attributes: Mapping[str, Any], key: str) -> str:
    value = attributes.get(key)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _many(held: Any) -> list[Any]:
    return held if isinstance(held, list) else [held]
