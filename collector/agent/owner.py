"""Who calls the driver: one thread, left behind when the driver does not return from a call.

NVML has no time limits. A call into a card that hangs never comes back, and the thread that made it cannot
be stopped. So calls are made by a thread that nobody depends on: when one takes too long, that thread is
abandoned inside its call, the next call gets a new thread, and what hung is not asked again before its call
has returned. What an abandoned call answers is thrown away: it is of an unknown time.
"""

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Ticket(Generic[T]):
    """One piece of work, and what came of it once it `is_back`."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._back = threading.Event()
        self._answer: T | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do the work; what it raises is kept for `answer`."""
        try:
            self._answer = self._work()
        except BaseException as error:  # noqa: BLE001  it is raised where it was asked for
            self._error = error
        self._back.set()

    def wait(self, patience_s: float) -> bool:
        """Wait in real time; tell whether it is back."""
        return self._back.wait(patience_s)

    def is_back(self) -> bool:
        """Tell whether the driver returned."""
        return self._back.is_set()

    def answer(self) -> T:
        """Give what the work gave, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._answer  # type: ignore[return-value]  # it is back, so this is what the work gave


class HungError(Exception):
    """The driver did not return in time; `ticket` tells when it has."""

    def __init__(self, ticket: Ticket[Any]) -> None:
        super().__init__("the driver does not return from a call")
        self.ticket = ticket


class Owner(Protocol):
    """Makes calls, one at a time."""

    def ask(self, work: Callable[[], T], patience_s: float | None = None) -> T:
        """Do it; raises what it raises, or HungError."""
        ...

    def is_stuck(self) -> bool:
        """Tell whether a call still hangs: to let the driver go under it would crash."""
        ...

    def close(self) -> None:
        """Take no more work."""
        ...


class Inline:
    """The caller's own thread: for drivers that always return, such as simulated ones."""

    def ask(self, work: Callable[[], T], patience_s: float | None = None) -> T:  # noqa: ARG002
        """Do it here and now."""
        return work()

    def is_stuck(self) -> bool:
        """Tell that nothing hangs: the caller would, too."""
        return False

    def close(self) -> None:
        """Nothing to close."""


class OwnerThread:
    """A thread of its own, replaced when it hangs.

    The default patience of 2 s keeps the other cards' gap, at an interval of 1 s, within the three intervals
    after which time becomes unknown.
    """

    def __init__(self, patience_s: float = 2.0) -> None:
        self._patience_s = patience_s
        self._work: queue.SimpleQueue[Ticket[Any] | None] | None = None
        self._hung: list[Ticket[Any]] = []

    def ask(self, work: Callable[[], T], patience_s: float | None = None) -> T:
        """Do it in the owner's thread and wait that long for it.

        Raises:
            HungError: it did not come back; its thread is left behind.
        """
        if self._work is None:
            self._work = queue.SimpleQueue()
            threading.Thread(target=_serve, args=(self._work,), name="agent-driver", daemon=True).start()
        ticket = Ticket(work)
        self._work.put(ticket)
        if not ticket.wait(self._patience_s if patience_s is None else patience_s):
            self._hung.append(ticket)
            self._leave()
            raise HungError(ticket)
        return ticket.answer()

    def is_stuck(self) -> bool:
        """Tell whether a call still hangs in a thread that was left behind."""
        self._hung = [ticket for ticket in self._hung if not ticket.is_back()]
        return bool(self._hung)

    def close(self) -> None:
        """End the thread once it is back."""
        self._leave()

    def _leave(self) -> None:
        """Have the thread end once it is back, and forget it."""
        if self._work is not None:
            self._work.put(None)
            self._work = None


def _serve(work: "queue.SimpleQueue[Ticket[Any] | None]") -> None:
    while (ticket := work.get()) is not None:
        ticket.run()
