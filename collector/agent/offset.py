"""How far this machine's clock is from the collector's, and how sure that is.

The collector is asked for its time (`GET /v1/clock`). It told the time at some moment between our question
and its answer, so our clock is ahead of it by at least (question - told) and at most (answer - told). Each
further question narrows this down, while bounds that grow old are widened by what two clocks may drift apart.
A collector that has no such page is taken by the `Date` of its answer, which is cut to whole seconds and,
from some servers, up to a second old; the error that is told says so.
"""

import threading
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import httpx

from taximeter.clock import NS_PER_S, Clock, to_ns

PATH = "/v1/clock"
_TIMEOUT_S = 5.0
_DRIFT = 1e-4  # seconds a second: twice what a bad quartz does without being steered
_DATE_LATE_NS = 2 * NS_PER_S + NS_PER_S // 10  # cut to a second, and made new once a second
_STEP_NS = NS_PER_S // 1000  # bounds that miss each other by less are a matter of rounding


class Offset(NamedTuple):
    """Our clock less the collector's, in seconds; the truth is within `error_s` of it."""

    offset_s: float
    error_s: float


class Bounds(NamedTuple):
    """Our clock less the collector's lies between these, at the time `at_ns` of our clock."""

    low_ns: float
    high_ns: float
    at_ns: int


def narrow(before: Bounds | None, now: Bounds) -> Bounds:
    """Join what was known with what was just learned; where they contradict, a clock was set: now counts."""
    if before is None:
        return now
    slack_ns = _DRIFT * abs(now.at_ns - before.at_ns) + _STEP_NS
    low_ns = max(now.low_ns, before.low_ns - slack_ns)
    high_ns = min(now.high_ns, before.high_ns + slack_ns)
    return Bounds(low_ns, high_ns, now.at_ns) if low_ns <= high_ns else now


class ClockOffset:
    """Asks the collector for its time. It may be asked from a thread of its own: reading never waits."""

    def __init__(self, url: str, clock: Clock, client: Callable[[], httpx.Client] | None = None) -> None:
        """`client` makes the connection that is kept; a test hands in its own."""
        self._url = url.rstrip("/") + PATH
        self._clock = clock
        self._client = (client or (lambda: httpx.Client(timeout=_TIMEOUT_S, trust_env=False)))()
        self._bounds: Bounds | None = None
        self._asking: threading.Thread | None = None

    def offset(self) -> Offset | None:
        """Give what is known; None before the collector answered for the first time."""
        bounds = self._bounds
        if bounds is None:
            return None
        age_ns = _DRIFT * max(0, self._clock.now_ns() - bounds.at_ns)
        middle_ns = (bounds.low_ns + bounds.high_ns) / 2
        return Offset(middle_ns / NS_PER_S, ((bounds.high_ns - bounds.low_ns) / 2 + age_ns) / NS_PER_S)

    def ask(self) -> None:
        """Ask once; a collector that does not answer leaves what is known as it is."""
        asked_ns = self._clock.now_ns()
        try:
            response = self._client.get(self._url)
        except (httpx.HTTPError, RuntimeError):  # RuntimeError: closed while it asked
            return
        told = _told(response)
        answered_ns = self._clock.now_ns()
        if told is None or answered_ns < asked_ns:
            return
        told_ns, late_ns = told
        learned = Bounds(asked_ns - told_ns - late_ns, answered_ns - told_ns, answered_ns)
        self._bounds = narrow(self._bounds, learned)

    def ask_aside(self) -> None:
        """Ask in a thread of its own, unless the last question still waits."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = threading.Thread(target=self.ask, name="agent-clock", daemon=True)
            self._asking.start()

    def close(self) -> None:
        """Ask no more."""
        self._client.close()


def _told(response: httpx.Response) -> tuple[int, int] | None:
    """Read the time that was told, and by how much it may be behind when it was told, both in ns."""
    if response.is_success:
        try:
            return int(response.json()["now_ns"]), 0
        except (ValueError, KeyError, TypeError):
            return None
    try:
        return to_ns(parsedate_to_datetime(response.headers["date"])), _DATE_LATE_NS
    except (KeyError, ValueError, TypeError):
        return None
