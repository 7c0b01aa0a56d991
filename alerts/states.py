"""The state machine of alerts: rows now, states before and the time make states after and events. Pure.

    inactive -> pending -> firing -> resolved (inactive again)

An alert is one rule with one set of group values. What is unknown (no answer, stale rows, absent values)
neither fires nor resolves anything. Where the source as a whole is healthy, a firing alert that nothing was
known of for the rule's `hold_at_most` ends, and says that it ended unknown.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from alerts.rule import Rule
from taximeter.clock import NS_PER_S

Labels = tuple[tuple[str, str | None], ...]
Kind = Literal["firing", "repeated", "changed", "resolved"]


class Group(NamedTuple):
    """What the rows of one group say now; `holds` is None where they cannot tell."""

    holds: bool | None
    rows: tuple[dict[str, Any], ...]  # of those for which the condition holds
    members: frozenset[str]


class Observation(NamedTuple):
    """One look at a report: its groups, and whether a group that is missing from it is really gone."""

    groups: Mapping[Labels, Group]
    is_healthy: bool


class State(NamedTuple):
    """An alert that is not inactive. Instants are when it was observed, not when it may have begun."""

    phase: Literal["pending", "firing"]
    since_ns: int  # the condition was first seen to hold
    seen_ns: int  # it was last known whether it holds
    held_ns: int  # it was last seen to hold
    fired_ns: int | None = None
    told_ns: int | None = None
    told_count: int = 0  # notifications so far: part of their idempotency keys
    members: frozenset[str] = frozenset()  # of the last notification
    simulated: bool = False  # whether the last notification spoke of simulated data


class Event(NamedTuple):
    """Something to tell. `number` counts the notifications of one firing, from 0."""

    kind: Kind
    labels: Labels
    group: Group
    since_ns: int
    fired_ns: int
    at_ns: int
    number: int
    simulated: bool
    reason: str | None = None


_GONE = Group(holds=False, rows=(), members=frozenset())
_UNSEEN = Group(holds=None, rows=(), members=frozenset())


def step(
    rule: Rule, observation: Observation | None, before: Mapping[Labels, State], now_ns: int
) -> tuple[dict[Labels, State], list[Event]]:
    """Take one step for all alerts of a rule; no observation means that nobody could look."""
    after: dict[Labels, State] = {}
    events: list[Event] = []
    groups = observation.groups if observation else {}
    is_healthy = observation is not None and observation.is_healthy
    missing = _GONE if is_healthy else _UNSEEN
    for labels in sorted(groups.keys() | before.keys(), key=repr):
        group, state = groups.get(labels, missing), before.get(labels)
        if group.holds is None:
            state, event = _unknown(rule, labels, state, now_ns, may_end=is_healthy)
        elif group.holds:
            state, event = _bad(rule, labels, group, state, now_ns)
        else:
            state, event = _good(rule, labels, group, state, now_ns)
        if state:
            after[labels] = state
        if event:
            events.append(event)
    return after, events


def _unknown(
    rule: Rule, labels: Labels, state: State | None, now_ns: int, *, may_end: bool
) -> tuple[State | None, Event | None]:
    """Hold a firing alert; a pending one starts over, because nobody saw that the condition went on."""
    if state is None or state.phase == "pending":
        return None, None
    if not may_end or now_ns - state.seen_ns < rule.hold_at_most_s * NS_PER_S:
        return state, None
    resolved = _event("resolved", labels, _UNSEEN, state, now_ns)
    return None, resolved._replace(reason="no data: it is unknown whether it still holds")


def _bad(
    rule: Rule, labels: Labels, group: Group, state: State | None, now_ns: int
) -> tuple[State | None, Event | None]:
    state = state or State("pending", now_ns, now_ns, now_ns)
    state = state._replace(seen_ns=now_ns, held_ns=now_ns)
    if state.phase == "pending":
        if now_ns - state.since_ns < rule.for_ns:
            return state, None
        state = state._replace(phase="firing", fired_ns=now_ns)
        return _tell("firing", labels, group, state, now_ns)
    waited_ns = now_ns - (state.told_ns or 0)
    if waited_ns >= rule.repeat_every_s * NS_PER_S:
        return _tell("repeated", labels, group, state, now_ns)
    if group.members - state.members and waited_ns >= rule.update_every_s * NS_PER_S:
        return _tell("changed", labels, group, state, now_ns)
    return state, None


def _good(
    rule: Rule, labels: Labels, group: Group, state: State | None, now_ns: int
) -> tuple[State | None, Event | None]:
    if state is None or state.phase == "pending":
        return None, None
    if now_ns - state.held_ns < rule.keep_firing_for_s * NS_PER_S:
        return state._replace(seen_ns=now_ns), None
    return None, _event("resolved", labels, group, state, now_ns)


def _tell(kind: Kind, labels: Labels, group: Group, state: State, now_ns: int) -> tuple[State, Event]:
    state = state._replace(simulated=any(row.get("simulated") is True for row in group.rows))
    event = _event(kind, labels, group, state, now_ns)
    members = group.members | (state.members if kind == "changed" else frozenset())
    return state._replace(told_ns=now_ns, told_count=state.told_count + 1, members=members), event


def _event(kind: Kind, labels: Labels, group: Group, state: State, now_ns: int) -> Event:
    return Event(
        kind=kind,
        labels=labels,
        group=group,
        since_ns=state.since_ns,
        fired_ns=state.fired_ns or now_ns,
        at_ns=now_ns,
        number=state.told_count,
        simulated=state.simulated,
    )
