"""Asks every target in its own rhythm; none waits for another, and one that fails says so at every turn."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import httpx
from prometheus_client.core import GaugeMetricFamily

from collector.scrape.fetch import Fetched, fetch
from collector.scrape.page import Page, to_request
from collector.scrape.targets import Target, read_list
from taximeter.clock import Clock
from taximeter.errors import BadInputError, SettingsError
from taximeter.secret import read_secret

_LOG = logging.getLogger(__name__)
_LONGEST_WAIT_S = 10.0  # for an answer
_CONNECTIONS = 100
LOOK_AT_LIST_S = 5.0
SERVICE = "taximeter-scrape"

Put = Callable[[bytes], None]


class Scraper:
    """Hands every page to `put` as one OTLP request, with a request of its own facts beside it.

    A target that does not answer gives `taximeter.scrape.up` 0 with the reason, and nothing else: what it did
    not tell is not known.
    """

    def __init__(self, put: Put, clock: Clock, host: str) -> None:
        self._put = put
        self._clock = clock
        self._host = host
        self._asking: dict[Target, asyncio.Task[None]] = {}
        limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS)
        self._client = httpx.AsyncClient(limits=limits, trust_env=False)

    async def run(self, targets: Iterable[Target], file: Path | None = None) -> None:
        """Ask until cancelled; the targets of `file` are read again whenever it changes."""
        fixed, listed = list(targets), _Listed(file)
        try:
            while True:
                self._follow({*fixed, *listed.read()})
                await asyncio.sleep(LOOK_AT_LIST_S)
        finally:
            self._follow(set())
            await self._client.aclose()

    def _follow(self, targets: set[Target]) -> None:
        for target in self._asking.keys() - targets:
            self._asking.pop(target).cancel()
        for target in targets - self._asking.keys():
            self._asking[target] = asyncio.create_task(self._ask_on(target))

    async def _ask_on(self, target: Target) -> None:
        next_s = self._clock.monotonic_s()
        was = ""
        while True:
            started_s, t_ns = self._clock.monotonic_s(), self._clock.now_ns()
            found = await self._ask(target)
            was = _tell_change(target, was, found.reason)
            self._hand_on(target, found, t_ns, self._clock.monotonic_s() - started_s)
            # A turn that came late is left out, never made up for.
            next_s = max(next_s + target.every_s, self._clock.monotonic_s())
            await asyncio.sleep(max(next_s - self._clock.monotonic_s(), 0))

    async def _ask(self, target: Target) -> Fetched:
        try:
            token = read_secret(target.token_env) if target.token_env else None
        except SettingsError:
            return Fetched(None, "no_token")
        return await fetch(self._client, target.url, min(target.every_s, _LONGEST_WAIT_S), token)

    def _hand_on(self, target: Target, found: Fetched, t_ns: int, took_s: float) -> None:
        instance = target.instance
        named = {"host.name": target.host(self._host), "service.instance.id": instance}
        if target.deployment is not None:
            named["taximeter.deployment"] = target.deployment
        if found.page is not None:
            service = {"service.name": f"scraped {instance}"}
            self._put(to_request(found.page, t_ns, named | service, dict(target.labels)))
        self._put(
            to_request(_facts(found, took_s), t_ns, named | {"service.name": SERVICE}, dict(target.labels))
        )


@contextlib.contextmanager
def scraping(file: Path | None, put: Put, clock: Clock, host: str) -> Iterator[None]:
    """Ask the targets of `file` in a thread of its own while the block runs; without a file, nobody."""
    if file is None:
        yield
        return
    loop = asyncio.new_event_loop()
    work = loop.create_task(Scraper(put, clock, host).run([], file))
    thread = threading.Thread(target=_run, args=(loop, work), name="agent-scrape", daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(work.cancel)
        thread.join(_LONGEST_WAIT_S)


def _run(loop: asyncio.AbstractEventLoop, work: asyncio.Task[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(work)
    loop.close()


class _Listed:
    """The targets of a file that other programs keep; one that cannot be read changes nothing."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._seen: tuple[int, int] | None = None
        self._targets: list[Target] = []

    def read(self) -> list[Target]:
        if self._file is None:
            return []
        try:
            status = self._file.stat()
            now = (status.st_mtime_ns, status.st_size)
            if now != self._seen:
                self._targets = read_list(self._file)
                self._seen = now
        except (OSError, BadInputError, UnicodeDecodeError) as error:
            _LOG.warning("the list of targets cannot be read, the last one stays: %s", error)
        return self._targets


def _facts(found: Fetched, took_s: float) -> Page:
    up = GaugeMetricFamily("taximeter.scrape.up", "", labels=["reason"])
    up.add_metric([found.reason or "ok"], 0.0 if found.page is None else 1.0)
    duration = GaugeMetricFamily("taximeter.scrape.duration_s", "", value=took_s)
    series = GaugeMetricFamily("taximeter.scrape.series", "", value=found.page.series if found.page else 0)
    return Page((up, duration, series), 3)


def _tell_change(target: Target, was: str, reason: str) -> str:
    if reason and reason != was:
        _LOG.warning("%s does not tell its metrics: %s", target.instance, reason)
    elif was and not reason:
        _LOG.warning("%s tells its metrics again", target.instance)
    return reason
