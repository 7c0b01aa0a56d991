"""Messages to the person at the keyboard: standard error, so that standard output holds only results."""

import sys


def say(text: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
