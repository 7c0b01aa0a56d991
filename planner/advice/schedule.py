"""Replicas by the hour of the week: how many the recording needed, and a policy that holds so many."""

from datetime import datetime, timedelta
from math import ceil, isnan
from zoneinfo import ZoneInfo

from planner.backtest import Case
from planner.policy import Habits, Observation
from taximeter.clock import NS_PER_S, to_datetime

WEEK_H = 168
_HOUR_S = 3_600.0


def needed_by_hour(case: Case, zone: str, fitted_s: float | None = None) -> dict[int, int]:
    """Tell the most replicas that calls took at once in each hour of the week (0 is Monday 00:00 in `zone`).

    Hours that the recording does not hold are left out; an hour without a call needs none. With `fitted_s`
    only its first so many seconds are looked at.
    """
    until_s = case.workload.horizon_s if fitted_s is None else fitted_s
    load, wall = case.workload, ZoneInfo(zone)
    places = case.fleet.pools[0].concurrency
    found = dict.fromkeys((_hour(load.start_ns, second, wall) for second in _hours(until_s)), 0)
    flying = 0
    edges = [edge for edge in sorted(_edges(case)) if edge[0] <= until_s]
    for place, (instant, change) in enumerate(edges):
        flying += change
        until = edges[place + 1][0] if place + 1 < len(edges) else instant
        wanted = ceil(flying / places)
        for second in _touched(instant, until):
            hour = _hour(load.start_ns, second, wall)
            found[hour] = max(found.get(hour, 0), wanted)
    return found


def peak(case: Case) -> int:
    """Tell the most replicas that calls took at once."""
    flying = most = 0
    for _, change in sorted(_edges(case)):
        flying += change
        most = max(most, flying)
    return ceil(most / case.fleet.pools[0].concurrency)


def _edges(case: Case) -> list[tuple[float, int]]:
    load = case.workload
    found = []
    for start, wait, took, served in zip(
        load.start_s, load.wait_s, load.recorded_s, load.served, strict=True
    ):
        if served:
            begin = start + (0.0 if isnan(wait) else wait)
            found += [(begin, 1), (begin + took, -1)]
    return found


def _hours(horizon_s: float) -> list[float]:
    return [number * _HOUR_S for number in range(ceil(horizon_s / _HOUR_S))]


def _touched(begin: float, end: float) -> list[float]:
    """List an instant of every hour that a stretch reaches into; hours start with the load."""
    seconds = [begin]
    while (following := seconds[-1] + _HOUR_S) < end:
        seconds.append(following)
    return [*seconds, max(end - 1e-6, begin)]


def _hour(start_ns: int, second: float, wall: ZoneInfo) -> int:
    local = to_datetime(start_ns + round(second * NS_PER_S)).astimezone(wall)
    return hour_of_week(local)


def hour_of_week(local: datetime) -> int:
    """Number the hours of the week from Monday 00:00."""
    return local.weekday() * 24 + local.hour


class HourOfWeek(Habits):
    """As many replicas as each hour of the week needs, started a cold start and a minute before it.

    An hour that the recording does not hold gets the most of all hours.
    """

    name = "hour_of_week"
    interval_s = 60.0

    def __init__(
        self, needs: dict[int, int], *, start_ns: int, zone: str, lead_s: float, least: int = 0
    ) -> None:
        """Hold `needs` replicas, counting seconds from `start_ns`."""
        self._needs, self._most, self._least = needs, max(needs.values(), default=0), least
        self._begin = to_datetime(start_ns)
        self._wall = ZoneInfo(zone)
        self._lead_s = lead_s
        self.start = self._at(0.0)

    def _at(self, second: float) -> int:
        local = (self._begin + timedelta(seconds=second)).astimezone(self._wall)
        return max(self._needs.get(hour_of_week(local), self._most), self._least)

    def decide(self, seen: Observation) -> int:
        """Answer what the hour needs, or the one that is about to come."""
        return max(self._at(seen.now_s), self._at(seen.now_s + self._lead_s))
