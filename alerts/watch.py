"""One look at every rule: ask, step the state machine, store what is to be told."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from alerts.look import observe
from alerts.notification import Notification, notify
from alerts.rule import LoadedRule
from alerts.states import Event, Observation, step
from alerts.store import AlertStore
from planner.scale_down import scale_down
from taximeter.clock import NS_PER_S, Clock
from taximeter.errors import TaximeterError


class Reports(Protocol):
    """Who answers reports: the client of the warehouse."""

    def report(self, name: str, **params: str | float | None) -> pa.Table:
        """Answer a report or raise TaximeterError."""
        ...


class Watch:
    """Watches a list of rules; what happened is in the store when `look` returns."""

    def __init__(
        self,
        rules: Sequence[LoadedRule],
        reports: Reports,
        store: AlertStore,
        clock: Clock,
        *,
        channels: Sequence[str],
        dashboard_url: str,
    ) -> None:
        """Take the rules, whom to ask, where to store, and the names of the channels there are."""
        self._rules = rules
        self._reports = reports
        self._store = store
        self._clock = clock
        self._channels = channels
        self._dashboard_url = dashboard_url
        self._looked_ns: dict[str, int] = {}

    def look(self) -> list[str]:
        """Look once at every rule that is due; returns why one could not be looked at, one line each.

        Rules that ask for the same share one answer. A rule that fails stops no other, and its alerts stay as
        they are. Alerts of rules that are gone end without a word.
        """
        failures = []
        answers: dict[str, pa.Table] = {}
        for loaded in filter(self._is_due, self._rules):
            self._looked_ns[loaded.rule.name] = self._clock.now_ns()
            try:
                observation: Observation | None = self._observe(loaded, answers)
            except TaximeterError as error:
                failures.append(f"{loaded.rule.name}: {error}")
                observation = None
            self._step(loaded, observation)
        for name in self._store.rules() - {loaded.rule.name for loaded in self._rules}:
            self._store.save(name, {}, [], self._clock.now_ns())
        return failures

    def _is_due(self, loaded: LoadedRule) -> bool:
        looked_ns = self._looked_ns.get(loaded.rule.name)
        return looked_ns is None or self._clock.now_ns() - looked_ns >= loaded.rule.every_s * NS_PER_S

    def _observe(self, loaded: LoadedRule, answers: dict[str, pa.Table]) -> Observation:
        rule = loaded.rule
        asked = repr((rule.report, sorted(rule.params.items())))
        if asked not in answers:
            answers[asked] = self._reports.report(rule.report, **rule.params)
        return observe(loaded, answers[asked], self._clock.now_ns())

    def _step(self, loaded: LoadedRule, observation: Observation | None) -> None:
        rule, now_ns = loaded.rule, self._clock.now_ns()
        after, events = step(rule, observation, self._store.states(rule.name), now_ns)
        told = [self._notification(loaded, event) for event in events]
        channels = rule.channels or self._channels
        self._store.save(
            rule.name,
            after,
            [(channel, notification) for notification in told for channel in channels],
            now_ns,
        )

    def _notification(self, loaded: LoadedRule, event: Event) -> Notification:
        advise = _ADVISERS.get(loaded.rule.advice or "")
        advice = advise(self._reports, event, self._clock.now_ns()) if advise and event.group.rows else None
        return notify(loaded.rule, event, advice, self._dashboard_url)


def _advise_scale_down(reports: Reports, event: Event, now_ns: int) -> str | None:
    """One sentence of the planner; an advice that cannot be had says so and never stops an alert."""
    deployment = dict(event.labels).get("deployment")
    if deployment is None:
        return "No scale-down advice: these GPUs belong to no deployment of the settings."
    try:
        return scale_down(reports, deployment, now_ns).sentence
    except TaximeterError as error:
        return f"No advice: {error}"


_ADVISERS: dict[str, Callable[[Reports, Event, int], str | None]] = {"scale_down": _advise_scale_down}
