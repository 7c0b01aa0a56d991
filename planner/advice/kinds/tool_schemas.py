"""Trim tool schemas: agents that never ask for a tool need none."""

from collections.abc import Iterator, Sequence

from planner.advice.calls import Call, total, without
from planner.advice.found import Advice, Found, Refusal, Remedy, Saving
from planner.advice.groups import Group, Key, groups, key_of, put
from planner.advice.load import Load
from planner.advice.rules import rule
from taximeter.units import count, share, usd

KIND = "tool_schemas"


def find(load: Load) -> Iterator[Found]:
    """Advise where schemas are sent, and it is known of every call that it asked for no tool."""
    for group in groups(load, KIND):
        if isinstance(group, Refusal):
            yield group
        elif reason := _reason_against(group):
            yield Refusal(KIND, group.title, reason, agent=group.agent, coverage_ratio=group.coverage_ratio)
        else:
            yield from _advise(group, load)


def _reason_against(group: Group) -> str | None:
    told = sum(call.schema is not None for call in group.calls) / len(group.calls)
    if told < rule("least", "coverage_ratio"):
        return f"the size of its tool schemas is known of {share(told)} of its calls"
    if any(call.asked_tool for call in group.calls):
        return (
            "it asks for tools, and traces tell the size of all schemas together, not which were never used"
        )
    if not all(call.asked_tool is False for call in group.calls):
        return "it is not known of every call whether it asked for a tool"
    return None


def _advise(group: Group, load: Load) -> Iterator[Advice]:
    before = total(group.calls)
    saved = before - total(trim(group.calls, group.key))
    if saved <= 0:
        return
    tokens = sum(call.schema or 0 for call in group.calls)
    yield Advice(
        kind=KIND,
        target=group.title,
        sentence=f"Send {group.title} no tool schemas: {count(tokens)} tokens of them went out with"
        f" {count(len(group.calls))} calls, and none asked for a tool. That is {usd(saved)} of"
        f" {usd(before)}.",
        change="Leave the tools out of this agent's requests.",
        cost_usd=before,
        saving=Saving(usd=saved),
        evidence=group.evidence(load, len(group.calls)),
        signal="asked_tool is false on every call, tool_schema_tokens is told",
        remedy=Remedy(recall=lambda calls: trim(calls, group.key)),
        agent=group.agent,
        coverage_ratio=group.coverage_ratio,
        confidence=group.trust(load, is_replayed=True, is_measured=False),
        price_source=group.price_source,
    )


def trim(calls: Sequence[Call], key: Key) -> list[Call]:
    """Take the schemas, which stand first in a prompt, out of a group's calls."""
    changed = []
    for call in calls:
        if call.is_plain and key_of(call) == key and call.schema:
            gone = min(call.schema, call.input or 0)
            changed.append(without(call, 0, gone)._replace(schema=call.schema - gone))
    return put(calls, changed)
