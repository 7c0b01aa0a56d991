"""Calls in groups of which one says the same thing: an agent's calls to a model."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planner.advice.calls import Call
from planner.advice.found import Evidence, Refusal, confidence
from planner.advice.load import Load
from planner.advice.rules import rule
from taximeter.units import share

Key = tuple[str | None, str | None, str | None]


class Group(NamedTuple):
    """An agent's calls to a model that are paid by tokens; `calls` are those that can be costed anew."""

    key: Key
    calls: tuple[Call, ...]
    coverage_ratio: float

    @property
    def agent(self) -> str | None:
        """Whose calls they are."""
        return self.key[0]

    @property
    def title(self) -> str:
        """Name it on screens."""
        return f"{self.key[0] or 'no agent'} on {self.key[2] or 'no model'}"

    @property
    def price_source(self) -> str | None:
        """Name where the prices stand."""
        return "; ".join(sorted({call.price_source for call in self.calls if call.price_source})) or None

    def evidence(self, load: Load, rows: int) -> Evidence:
        """Point at its calls."""
        return Evidence(
            "recommendations_calls", load.window.params(agent=self.agent, model=self.key[2]), rows
        )

    def trust(self, load: Load, *, is_replayed: bool, is_measured: bool = True) -> str:
        """Judge advice about it."""
        return confidence(
            is_replayed=is_replayed,
            window_s=load.recorded_s,
            coverage_ratio=self.coverage_ratio,
            is_measured=is_measured,
        )


def key_of(call: Call) -> Key:
    """Tell a call's group."""
    return call.agent, call.provider, call.model


def groups(load: Load, kind: str) -> Iterator[Group | Refusal]:
    """Give the groups of which enough is known, and the reasons against the others."""
    by_key: dict[Key, list[Call]] = {}
    for call in load.calls:
        if call.paid_by == "tokens":
            by_key.setdefault(key_of(call), []).append(call)
    few = 0
    for key, calls in sorted(by_key.items(), key=lambda item: tuple(part or "" for part in item[0])):
        plain = tuple(call for call in calls if call.is_plain)
        ratio = len(plain) / len(calls)
        group = Group(key, plain, ratio)
        if len(calls) < rule("least", "calls"):
            few += 1
        elif ratio < rule("least", "coverage_ratio"):
            reason = (
                f"tokens and price are known of {share(ratio)} of its calls;"
                f" advice needs {share(rule('least', 'coverage_ratio'))}"
            )
            yield Refusal(kind, group.title, reason, agent=key[0], coverage_ratio=ratio)
        else:
            yield group
    if few:
        reason = f"fewer than {rule('least', 'calls'):.0f} calls each"
        yield Refusal(kind, f"{few} pairs of agent and model", reason)


def threads(calls: Iterable[Call]) -> dict[tuple[str, str | None], list[Call]]:
    """Sort calls into the lines that share one growing context, each in order of start."""
    found: dict[tuple[str, str | None], list[Call]] = {}
    for call in sorted(calls, key=lambda one: (one.start_ns, one.step_id)):
        found.setdefault((call.task_id, call.thread), []).append(call)
    return found


def put(calls: Sequence[Call], changed: Iterable[Call]) -> list[Call]:
    """Put changed calls into the place of those they were."""
    by_id = {(call.task_id, call.step_id): call for call in changed}
    return [by_id.get((call.task_id, call.step_id), call) for call in calls]
