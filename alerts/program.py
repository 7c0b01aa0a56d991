"""The program: looks at the rules and delivers what is due, on a schedule, until it is asked to stop."""

import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC

from apscheduler.schedulers.background import BackgroundScheduler

from alerts.channels.build import Sender, build_channels
from alerts.deliver import deliver_due
from alerts.rule import load_rules
from alerts.store import AlertStore
from alerts.watch import Watch
from taximeter.clock import Clock, to_datetime
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse.access import read_token
from warehouse.client import Client

_log = logging.getLogger("alerts")


class Program:
    """Everything that one look needs, built from the settings once."""

    def __init__(
        self, settings: Settings, store: AlertStore, channels: Mapping[str, Sender], clock: Clock
    ) -> None:
        """Read the rules and find the warehouse.

        Raises:
            SettingsError: a rule cannot be read, or a token is missing.
        """
        self._store, self._channels, self._clock = store, channels, clock
        self._watch = Watch(
            load_rules(settings.alerts.rules, _values(settings)),
            Client(settings.warehouse_url, read_token(settings)),
            store,
            clock,
            channels=list(channels),
            dashboard_url=settings.dashboard_url,
        )
        self._told: set[str] = set()

    def tick(self) -> list[str]:
        """Look and deliver once; returns what went wrong, which is logged once while it stays."""
        failures = self._watch.look()
        delivery = deliver_due(self._store, self._channels, self._clock)
        failures += delivery.failures
        if delivery.arrived:
            _log.info("%d notifications delivered", delivery.arrived)
        for failure in failures:
            if failure not in self._told:
                _log.warning("%s", failure)
        self._told = set(failures)
        return failures


def _values(settings: Settings) -> dict[str, float]:
    """What conditions may name with a $."""
    return {"idle_after_s": settings.alerts.idle_after_s, "busy_ratio": settings.warehouse.busy_ratio}


@contextmanager
def opened(settings: Settings, clock: Clock) -> Iterator[Program]:
    """Open the store and the channels of the settings.

    Raises:
        SettingsError: a channel or a rule cannot be used as it is.
        BusyError: another process watches the rules of this data folder.
    """
    channels = build_channels(settings.alerts.channels, clock)
    store = AlertStore(DataFolder(settings.data).make().alerts)
    try:
        yield Program(settings, store, channels, clock)
    finally:
        store.close()


def run(settings: Settings, clock: Clock) -> None:
    """Tick every `alerts.interval_s` until SIGTERM or SIGINT; a tick that takes longer is not doubled."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with opened(settings, clock) as program:
        if not settings.alerts.channels:
            _log.warning("no channel is named under alerts.channels: what fires is kept but told to nobody")
        scheduler = BackgroundScheduler(timezone=UTC)
        scheduler.add_job(
            program.tick,
            "interval",
            seconds=settings.alerts.interval_s,
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
            next_run_time=to_datetime(clock.now_ns()),
        )
        scheduler.start()
        stop.wait()
        scheduler.shutdown(wait=True)
