"""What steps usually take, by name: when a task that runs a tool will come back for its next call."""

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from math import inf
from statistics import median
from typing import NamedTuple


class StepProfile(NamedTuple):
    """How long steps of a name usually take; `step` is a glob, and the first that matches holds."""

    step: str
    duration_p50_s: float


class Profiles:
    """Profiles by name; of a name that none matches nothing is expected."""

    def __init__(self, profiles: Iterable[StepProfile]) -> None:
        self._profiles = tuple(profiles)
        self._known: dict[str, float | None] = {}
        self._spans: dict[str, tuple[float, float]] = {}
        self._lead_s = 0.0

    def usual_s(self, name: str) -> float | None:
        """Tell the usual duration of a step, None where nobody knows."""
        if name not in self._known:
            found = (one.duration_p50_s for one in self._profiles if fnmatchcase(name, one.step))
            self._known[name] = next(found, None)
        return self._known[name]

    def coming(self, between: Collection[tuple[str, float]], now: float, lead_s: float) -> int:
        """Count the tasks that are expected back within `lead_s`.

        One that takes longer than usual is expected at any moment, until it has taken twice as long; then it
        is expected no more.
        """
        if lead_s != self._lead_s:
            self._spans.clear()
            self._lead_s = lead_s
        spans = self._spans
        expected = 0
        for name, begun in between:
            if name not in spans:
                spans[name] = self._span(name, lead_s)
            shortest, longest = spans[name]
            expected += shortest <= now - begun <= longest
        return expected

    def _span(self, name: str, lead_s: float) -> tuple[float, float]:
        """Tell from which to which age a step of that name is expected back."""
        usual = self.usual_s(name)
        return (inf, -inf) if usual is None else (usual - lead_s, usual + max(usual, lead_s))


def measure_profiles(names: Sequence[str], seconds: Sequence[float]) -> list[StepProfile]:
    """Measure the median duration of each name. Glob characters in a name stand for themselves."""
    by_name: dict[str, list[float]] = {}
    for name, taken in zip(names, seconds, strict=True):
        by_name.setdefault(name, []).append(taken)
    return [StepProfile(_literal(name), median(taken)) for name, taken in sorted(by_name.items())]


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
