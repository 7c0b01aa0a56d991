"""Instants as a person reads them: on a clock on the wall of the settings' zone, with one offset a page.

One offset for a whole picture keeps its time axis straight when the clocks go back; the offset is written
beside it.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo


class Wall(NamedTuple):
    """A zone with the offset that it has at the end of what is shown."""

    zone: str
    offset: timedelta

    @property
    def label(self) -> str:
        """Name the zone, and the offset unless it is UTC itself."""
        minutes = round(self.offset.total_seconds() / 60)
        sign = "-" if minutes < 0 else "+"
        shown = f"UTC{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
        return self.zone if self.zone == "UTC" else f"{self.zone}, {shown}"

    def at(self, instant: datetime) -> datetime:
        """Move an instant of a report (UTC, naive or aware) to the wall; the answer is naive."""
        aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return (aware.astimezone(UTC) + self.offset).replace(tzinfo=None)

    def text(self, instant: datetime | None) -> str:
        """Write an instant to the second; a dash if unknown."""
        return "–" if instant is None else f"{self.at(instant):%Y-%m-%d %H:%M:%S}"

    def aware(self, wall_time: datetime) -> datetime:
        """Read a naive time on the wall back as an instant in UTC."""
        return wall_time.replace(tzinfo=UTC) - self.offset


def wall_of(zone: ZoneInfo, end: datetime) -> Wall:
    """Hang the clock for a picture that ends at the aware instant `end`."""
    return Wall(str(zone), end.astimezone(zone).utcoffset() or timedelta())
