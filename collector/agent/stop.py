"""How a program is asked to end: SIGTERM and SIGINT, seen at its next look."""

import signal


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
