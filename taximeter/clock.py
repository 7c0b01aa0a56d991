"""The one home of "now": everything that needs the time is handed a clock."""

import time
from datetime import UTC, datetime
from typing import Protocol

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


class Clock(Protocol):
    """What a program may ask about time."""

    def now_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        return time.time_ns()

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block for that many seconds."""
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when told to: for tests, replays and simulated days."""

    def __init__(self, start_ns: int = 0) -> None:
        """Start at `start_ns` nanoseconds since the epoch."""
        self._now_ns = start_ns

    def now_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        return self._now_ns

    def monotonic_s(self) -> float:
        """Seconds since the epoch of this clock."""
        return self._now_ns / NS_PER_S

    def sleep(self, seconds: float) -> None:
        """Move on by that many seconds, at once."""
        self._now_ns += round(seconds * NS_PER_S)


SYSTEM_CLOCK = SystemClock()


def to_datetime(instant_ns: int) -> datetime:
    """Read an instant in nanoseconds as an aware UTC datetime (microseconds, rounded down)."""
    seconds, rest = divmod(instant_ns, NS_PER_S)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def to_ns(instant: datetime) -> int:
    """Read an aware datetime as nanoseconds since the epoch; a naive one is refused.

    Raises:
        ValueError: the datetime has no zone, so it names no instant.
    """
    if instant.tzinfo is None:
        message = f"{instant.isoformat()} has no time zone"
        raise ValueError(message)
    delta = instant.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * NS_PER_S + delta.microseconds * 1000
