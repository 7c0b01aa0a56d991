"""Delivery: what is due goes to its channel; what does not arrive is tried again, later each time."""

from collections.abc import Mapping
from typing import NamedTuple

from alerts.channels.build import Sender
from alerts.channels.target import UndeliverableError
from alerts.store import AlertStore, Due
from taximeter.clock import NS_PER_S, Clock
from taximeter.errors import SettingsError

FIRST_WAIT_S = 5.0
LONGEST_WAIT_S = 600.0
_KEEP_DELIVERED_S = 7 * 86_400
_DOUBLINGS_AT_MOST = 10


class Delivery(NamedTuple):
    """What came of sending what was due: how many arrived, and why the others did not."""

    arrived: int
    failures: list[str]


def deliver_due(store: AlertStore, channels: Mapping[str, Sender], clock: Clock) -> Delivery:
    """Send everything that is due, once each; a channel that fails does not hold up the others."""
    arrived, failures = 0, []
    for due in store.due(clock.now_ns()):
        reason = _send(store, channels, due, clock)
        if reason:
            failures.append(f"{due.channel}: {due.notification.rule}: {reason}")
        else:
            arrived += 1
    store.forget_delivered(clock.now_ns() - _KEEP_DELIVERED_S * NS_PER_S)
    return Delivery(arrived, failures)


def _send(store: AlertStore, channels: Mapping[str, Sender], due: Due, clock: Clock) -> str | None:
    try:
        _find(channels, due.channel).send(due.notification)
    except (UndeliverableError, SettingsError) as error:
        wait_s = min(FIRST_WAIT_S * 2 ** min(due.attempts, _DOUBLINGS_AT_MOST), LONGEST_WAIT_S)
        if isinstance(error, UndeliverableError) and error.retry_after_s is not None:
            wait_s = max(wait_s, error.retry_after_s)
        store.failed(due, str(error), clock.now_ns() + round(wait_s * NS_PER_S))
        return str(error)
    store.delivered(due, clock.now_ns())
    return None


def _find(channels: Mapping[str, Sender], name: str) -> Sender:
    if name not in channels:
        message = "the settings name no such channel"
        raise SettingsError(message)
    return channels[name]
