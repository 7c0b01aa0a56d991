"""Looking at a report as a rule sees it: groups of rows, each with an answer."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from alerts.rule import LoadedRule, Rule
from alerts.states import Group, Labels, Observation
from taximeter.clock import NS_PER_S, to_ns
from taximeter.errors import SettingsError


def observe(loaded: LoadedRule, table: pa.Table, now_ns: int) -> Observation:
    """Sort a report's rows into the groups of a rule and ask the condition of each.

    Where a rule has `resolved_if`, a row that is not bad is good only if that holds too; else it cannot tell.
    Where a rule asks for fresh rows and there is none, the source is not healthy: what is missing may still
    be there.

    Raises:
        SettingsError: the rule names a column that the report does not have.
    """
    rule = loaded.rule
    _check_columns(loaded, table.column_names)
    groups: dict[Labels, list[tuple[dict[str, Any], bool | None]]] = {}
    fresh_rows = 0
    for row in table.to_pylist():
        fresh = _is_fresh(rule, row, now_ns)
        fresh_rows += fresh
        labels = tuple((name, _label(row[name])) for name in rule.group_by)
        groups.setdefault(labels, []).append((row, _ask(loaded, row) if fresh else None))
    is_healthy = rule.fresh is None or fresh_rows > 0
    return Observation({labels: _group(rule, answers) for labels, answers in groups.items()}, is_healthy)


def _ask(loaded: LoadedRule, row: dict[str, Any]) -> bool | None:
    answer = loaded.condition.test(row)
    if answer or loaded.resolved_if is None:
        return answer
    return False if loaded.resolved_if.test(row) else None


def _check_columns(loaded: LoadedRule, names: Iterable[str]) -> None:
    rule = loaded.rule
    wanted = {*loaded.condition.columns, *rule.group_by}
    wanted |= loaded.resolved_if.columns if loaded.resolved_if else set()
    wanted |= {rule.fresh.column} if rule.fresh else set()
    wanted |= {rule.member} if rule.member else set()
    missing = sorted(wanted - set(names))
    if missing:
        message = f"rule {rule.name}: the report {rule.report} has no column {', '.join(missing)}"
        raise SettingsError(message)


def _is_fresh(rule: Rule, row: dict[str, Any], now_ns: int) -> bool:
    if rule.fresh is None:
        return True
    value = row[rule.fresh.column]
    if not isinstance(value, datetime):
        return False
    instant = value if value.tzinfo else value.replace(tzinfo=UTC)
    return now_ns - to_ns(instant) <= rule.fresh.within * NS_PER_S


def _label(value: Any) -> str | None:
    return None if value is None else str(value)


def _group(rule: Rule, answers: list[tuple[dict[str, Any], bool | None]]) -> Group:
    """Sort rows by their answer; of the rows of one member (without members: of all) the worst counts."""
    found: dict[bool | None, set[str]] = {True: set(), None: set(), False: set()}
    for row, answer in answers:
        found[answer].add(str(row[rule.member]) if rule.member else "")
    bad, untold = found[True], found[None] - found[True]
    return Group(
        bad=frozenset(bad),
        good=frozenset(found[False] - bad - untold),
        untold=frozenset(untold),
        rows=tuple(row for row, answer in answers if answer),
    )
