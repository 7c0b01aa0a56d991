"""The time range and its way through the address of a page: pure functions, the address is the truth.

Ranges begin and end at quarter-hours, because GPU money is kept by the quarter-hour: tasks and cards of one
page then speak about exactly the same time.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from taximeter.clock import NS_PER_S, to_datetime, to_ns

QUARTER_NS = 900 * NS_PER_S
DEFAULT = "24h"
ALL = "all"
CUSTOM = "custom"
PRESETS = ("1h", DEFAULT, "7d", ALL)
_UNIT_S = {"m": 60, "h": 3_600, "d": 86_400}
_RELATIVE = re.compile(r"^(\d{1,4})([mhd])$")


class Range(NamedTuple):
    """A stretch of time as the address names it; no bound means open on that side."""

    since: str
    until: str | None
    since_ns: int | None
    until_ns: int | None
    refused: str | None = None

    @property
    def preset(self) -> str:
        """The button that stands for this range."""
        return self.since if self.since in PRESETS and self.until is None else CUSTOM

    def params(self) -> dict[str, int]:
        """Name the range as reports take it; an open side is left out."""
        bounds = {"since_ns": self.since_ns, "until_ns": self.until_ns}
        return {key: value for key, value in bounds.items() if value is not None}

    def query(self) -> dict[str, str]:
        """Name the range as an address takes it."""
        return {"since": self.since} | ({"until": self.until} if self.until else {})


def read_range(query: Mapping[str, str], now_ns: int) -> Range:
    """Read the range of an address; what cannot be understood falls back to the last day and is told."""
    since, until = query.get("since", DEFAULT), query.get("until")
    try:
        until_ns = None if until is None else _ceil(_instant(until, now_ns))
        since_ns = None if since == ALL else _floor(_instant(since, now_ns))
    except ValueError:
        return _refused(f"since={since}" + (f"&until={until}" if until else ""), now_ns)
    if since_ns is not None and until_ns is not None and until_ns <= since_ns:
        return _refused(f"since={since}&until={until}", now_ns)
    return Range(since, until, since_ns, until_ns)


def custom_query(start: datetime, end: datetime) -> dict[str, str]:
    """Write two aware instants as the range of an address (UTC, to the minute)."""
    return {"since": _iso(start), "until": _iso(end)}


def link(page: str, query: Mapping[str, str | None]) -> str:
    """Write a relative address of a page; absent values are left out, everything else is quoted."""
    given = {key: value for key, value in query.items() if value}
    return page + ("?" + urlencode(given) if given else "")


def _refused(what: str, now_ns: int) -> Range:
    return read_range({}, now_ns)._replace(refused=what)


def _instant(text: str, now_ns: int) -> int:
    relative = _RELATIVE.match(text)
    if relative:
        return now_ns - int(relative[1]) * _UNIT_S[relative[2]] * NS_PER_S
    instant = datetime.fromisoformat(text)
    return to_ns(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def _floor(instant_ns: int) -> int:
    return instant_ns - instant_ns % QUARTER_NS


def _ceil(instant_ns: int) -> int:
    return -(-instant_ns // QUARTER_NS) * QUARTER_NS


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")


def bounds(shown: Range) -> tuple[datetime | None, datetime | None]:
    """Give the bounds as aware instants for a person to read."""
    return (
        None if shown.since_ns is None else to_datetime(shown.since_ns),
        None if shown.until_ns is None else to_datetime(shown.until_ns),
    )
