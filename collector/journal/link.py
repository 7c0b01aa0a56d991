"""The decode process's line to its parent: it tells what is done and is told how far blocks are durable."""

import os
import select
import sys

_READ_BYTES = 64


class Link:
    """Two pipes: numbers as decimal lines, one answer to each question."""

    def __init__(self, asks: int, answers: int) -> None:
        """`asks` is open for writing, `answers` for reading."""
        self._asks = asks
        self._answers = answers

    @classmethod
    def over_standard_streams(cls) -> "Link":
        """Take standard input and output for the line; from now on what is printed goes to standard error."""
        asks = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        return cls(asks, sys.stdin.fileno())

    def ask(self, done: int) -> int:
        """Tell that all up to `done` is done; wait for the highest durable sequence, which is above it.

        Raises:
            EOFError: the parent is gone.
        """
        try:
            os.write(self._asks, b"%d\n" % done)
        except BrokenPipeError:
            raise EOFError from None
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self._answers, _READ_BYTES)
            if not more:
                raise EOFError
            line += more
        return int(line)

    def pause(self, seconds: float) -> None:
        """Wait between questions.

        Raises:
            EOFError: the parent is gone.
        """
        readable, _, _ = select.select([self._answers], [], [], seconds)
        if readable:  # nothing was asked, so this can only be the end of the file
            raise EOFError
