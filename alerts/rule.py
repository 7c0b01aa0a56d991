"""Rules as data: what to ask, when it is bad, for how long, whom to tell and how."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from alerts.condition import Condition, parse_condition
from alerts.quantity import read_quantity
from taximeter.clock import NS_PER_S
from taximeter.errors import SettingsError

_DURATIONS = ("every_s", "for_s", "keep_firing_for_s", "repeat_every_s", "update_every_s", "hold_at_most_s")
Severity = Literal["info", "warning", "critical"]


class Fresh(BaseModel):
    """How old the instant in a column may be for its row to say anything about now."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    column: str
    within: float

    @field_validator("within", mode="before")
    @classmethod
    def _read(cls, value: Any) -> float:
        return read_quantity(str(value))


class Rule(BaseModel):
    """One rule. Durations are seconds; an alert is one rule with one set of values of `group_by`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    enabled: bool = True
    report: str
    params: dict[str, str | int | float] = {}
    condition: str
    resolved_if: str | None = None  # what must be seen of a row that was bad, before it counts as good
    values: dict[str, float | str | bool] = {}
    fresh: Fresh | None = None
    group_by: list[str] = []
    every_s: float = Field(default=0.0, alias="every", ge=0)  # looked at no more often than this
    for_s: float = Field(default=0.0, alias="for", ge=0)
    keep_firing_for_s: float = Field(default=0.0, alias="keep_firing_for", ge=0)
    repeat_every_s: float = Field(default=14_400.0, alias="repeat_every", gt=0)
    update_every_s: float = Field(default=300.0, alias="update_every", gt=0)
    hold_at_most_s: float = Field(default=3_600.0, alias="hold_at_most", ge=0)
    member: str | None = None  # the column that names a row within its group
    severity: Severity = "warning"
    labels: dict[str, str] = {}
    channels: list[str] = []  # none named: all of them
    title: str
    text: str
    resolved: str = "No longer so."
    advice: Literal["scale_down"] | None = None
    link: str = "/"

    @field_validator(*_DURATIONS, mode="before")
    @classmethod
    def _read_duration(cls, value: Any) -> float:
        return read_quantity(str(value))

    @property
    def for_ns(self) -> int:
        """How long the condition must hold before the alert fires."""
        return round(self.for_s * NS_PER_S)


class LoadedRule(NamedTuple):
    """A rule whose conditions were read."""

    rule: Rule
    condition: Condition
    resolved_if: Condition | None = None


def load_rules(user_file: Path | None, values: Mapping[str, float]) -> list[LoadedRule]:
    """Read the built-in rules and the user's; one of the same name replaces ours, disabled ones are left out.

    `values` are the settings that conditions may name with a $; a rule's own values win over them.

    Raises:
        SettingsError: a file cannot be read, or a rule in it cannot be; the message names the rule.
    """
    built_in = files("alerts").joinpath("rules.yaml").read_text(encoding="utf-8")
    rules = {rule.name: rule for rule in _parse(built_in, "the built-in rules")}
    if user_file is not None:
        rules |= {rule.name: rule for rule in _parse(_text(user_file), str(user_file))}
    return [load_rule(rule, values) for rule in rules.values() if rule.enabled]


def load_rule(rule: Rule, values: Mapping[str, float]) -> LoadedRule:
    """Read the conditions of a rule.

    Raises:
        SettingsError: one of them cannot be read.
    """
    names = {**values, **rule.values}
    resolved_if = None if rule.resolved_if is None else parse_condition(rule.resolved_if, names)
    return LoadedRule(rule, parse_condition(rule.condition, names), resolved_if)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        message = f"rules: {file} cannot be read: {error.strerror}"
        raise SettingsError(message) from None


def _parse(text: str, where: str) -> list[Rule]:
    try:
        document = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        message = f"rules: {where}: not YAML: {str(error).splitlines()[0]}"
        raise SettingsError(message) from None
    rules = document.get("rules") if isinstance(document, dict) else None
    if not isinstance(rules, list):
        message = f"rules: {where} must hold a list under the key rules"
        raise SettingsError(message)
    return [_rule(raw, where) for raw in rules]


def _rule(raw: Any, where: str) -> Rule:
    try:
        return Rule.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        name = raw.get("name", "without a name") if isinstance(raw, dict) else raw
        place = ".".join(str(part) for part in first["loc"])
        message = f"rules: {where}: rule {name}: {place}: {first['msg']}"
        raise SettingsError(message) from None
