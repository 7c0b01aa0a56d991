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
    """What the rows of one group say now, by the member that each row is about.

    A member is bad, or good, or its row cannot tell (old, absent values, or not seen to be good again); one
    that has no row is in none of the three.
    """

    bad: frozenset[str] = frozenset()
    good: frozenset[str] = frozenset()
    untold: frozenset[str] = frozenset()
    rows: tuple[dict[str, Any], ...] = ()  # of the bad ones


class Observation(NamedTuple):
    """One look at a report: its groups, and whether what is missing from it is really gone."""

    groups: Mapping[Labels, Group]
    is_healthy: bool


class State(NamedTuple):
    """An alert that is not inactive. Instants are when it was observed, not when it may have begun."""

    phase: Literal["pending", "firing"]
    since_ns: int  # the condition was first seen to hold
    seen_ns: int  # it was last known whether it holds
    held_ns: int  # it was last seen to hold
    bad: frozenset[str] = frozenset()  # members that were seen bad and not seen good or gone since
    fired_ns: int | None = None
    told_ns: int | None = None
    told_count: int = 0  # notifications so far: part of their idempotency keys
    members: frozenset[str] = frozenset()  # that were told of
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


_EMPTY = Group()


def step(
    rule: Rule, observation: Observation | None, before: Mapping[Labels, State], now_ns: int
) -> tuple[dict[Labels, State], list[Event]]:
    """Take one step for all alerts of a rule; no observation means that nobody could look."""
    seen = observation or Observation({}, is_healthy=False)
    after: dict[Labels, State] = {}
    events: list[Event] = []
    for labels in sorted(seen.groups.keys() | before.keys(), key=repr):
        group, old = seen.groups.get(labels, _EMPTY), before.get(labels)
        state, event = _step_one(rule, labels, group, old, now_ns, is_healthy=seen.is_healthy)
        if state:
            after[labels] = state
        if event:
            events.append(event)
    return after, events


def _step_one(
    rule: Rule, labels: Labels, group: Group, state: State | None, now_ns: int, *, is_healthy: bool
) -> tuple[State | None, Event | None]:
    if group.bad:
        return _bad(rule, labels, group, state, now_ns)
    if state is None or state.phase == "pending":
        # Nobody saw that the condition went on, so it starts over.
        return None, None
    left = state.bad - group.good
    left = left & group.untold if is_healthy else left
    if left:
        return _unknown(rule, labels, state._replace(bad=left), now_ns, may_end=is_healthy)
    return _good(rule, labels, state, now_ns)


def _bad(
    rule: Rule, labels: Labels, group: Group, state: State | None, now_ns: int
) -> tuple[State, Event | None]:
    state = state or State("pending", now_ns, now_ns, now_ns)
    state = state._replace(seen_ns=now_ns, held_ns=now_ns, bad=(state.bad - group.good) | group.bad)
    if state.phase == "pending":
        if now_ns - state.since_ns < rule.for_ns:
            return state, None
        state = state._replace(phase="firing", fired_ns=now_ns)
        return _tell("firing", labels, group, state, now_ns)
    waited_ns = now_ns - (state.told_ns or 0)
    if waited_ns >= rule.repeat_every_s * NS_PER_S:
        return _tell("repeated", labels, group, state, now_ns)
    if group.bad - state.members and waited_ns >= rule.update_every_s * NS_PER_S:
        return _tell("changed", labels, group, state, now_ns)
    return state, None


def _unknown(
    rule: Rule, labels: Labels, state: State, now_ns: int, *, may_end: bool
) -> tuple[State | None, Event | None]:
    if not may_end or now_ns - state.seen_ns < rule.hold_at_most_s * NS_PER_S:
        return state, None
    resolved = _event("resolved", labels, _EMPTY, state, now_ns)
    return None, resolved._replace(reason="no data: it is unknown whether it still holds")


def _good(rule: Rule, labels: Labels, state: State, now_ns: int) -> tuple[State | None, Event | None]:
    if now_ns - state.held_ns < rule.keep_firing_for_s * NS_PER_S:
        return state._replace(seen_ns=now_ns), None
    return None, _event("resolved", labels, _EMPTY, state, now_ns)


def _tell(kind: Kind, labels: Labels, group: Group, state: State, now_ns: int) -> tuple[State, Event]:
    state = state._replace(simulated=any(row.get("simulated") is True for row in group.rows))
    event = _event(kind, labels, group, state, now_ns)
    members = group.bad | (state.members if kind == "changed" else frozenset())
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
