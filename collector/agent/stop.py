"""How a program is asked to end: SIGTERM and SIGINT, seen at its next look."""

import signal

from taximeter.clock import Clock


class Stop:
    """Whether somebody asked this program to end."""

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> "Stop":
        """Hear the signals from now on; only a program's main thread may."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask)
        return self

    def ask(self, *_: object) -> None:
        """Ask it to end."""
        self.asked = True

    def sleep(self, clock: Clock, seconds: float, look_s: float) -> None:
        """Let time pass, but no more than `look_s` of it after being asked to end."""
        end_s = clock.monotonic_s() + seconds
        while not self.asked and (left_s := end_s - clock.monotonic_s()) > 0:
            clock.sleep(min(left_s, look_s))
