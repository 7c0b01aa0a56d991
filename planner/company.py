"""Replicas on which a step takes longer the more others are served beside it."""

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.replicas import Replicas


class Company:
    """Shares each replica among its steps: each goes on at 1 / (1 + ratio x others) of its speed alone.

    A replica has a clock of work done by each of its steps; a step is done when that clock has gone on by
    its work. So a change of company moves one instant, that of the next to end, and no other.
    """

    def __init__(
        self,
        ratio: float,
        limits: list[int],
        replicas: "Replicas",
        due: list[float],
        events: list[tuple[float, int]],
    ) -> None:
        """Write the instant at which a step will end into `due`, and as its event into `events`."""
        self._ratio = ratio
        self._limits = limits
        self._replicas = replicas
        self._due, self._events = due, events
        self._done: list[float] = [0.0] * len(replicas.state)
        self._as_of: list[float] = [0.0] * len(replicas.state)
        self._ends: list[list[tuple[float, int]]] = [[] for _ in replicas.state]
        self._first: list[int] = [-1] * len(replicas.state)

    def add(self) -> None:
        """Take in the newest replica."""
        self._done.append(0.0)
        self._as_of.append(0.0)
        self._ends.append([])
        self._first.append(-1)

    def drop(self, replica: int) -> list[int]:
        """Forget the steps of a replica that is lost, and tell which they were."""
        lost = [step for _, step in self._ends[replica]]
        self._ends[replica].clear()
        self._first[replica] = -1
        return lost

    def place(self) -> int:
        """Choose the replica that serves fewest and has a place; -1 where none has."""
        load, pool = self._replicas.load, self._replicas.pool
        best, fewest = -1, 1 << 30
        for one in self._replicas.ready_ones():
            if load[one] < min(fewest, self._limits[pool[one]]):
                best, fewest = one, load[one]
        return best

    def join(self, step: int, replica: int, now: float, work: float) -> None:
        """Serve a step on a replica from now on."""
        self._go_on(replica, now)
        load = self._replicas.load
        if not load[replica]:
            self._replicas.busy_t.append(now)
            self._replicas.busy_by.append(1)
        load[replica] += 1
        heappush(self._ends[replica], (self._done[replica] + work, step))
        self._next(replica, now)

    def leave(self, replica: int, now: float) -> None:
        """End the step of a replica that is due."""
        self._done[replica], step = heappop(self._ends[replica])
        self._due[step] = inf  # its event may stand there twice
        self._first[replica] = -1
        self._as_of[replica] = now
        load = self._replicas.load
        load[replica] -= 1
        if not load[replica]:
            self._replicas.busy_t.append(now)
            self._replicas.busy_by.append(-1)
        self._next(replica, now)

    def _pace(self, replica: int) -> float:
        others = max(self._replicas.load[replica] - 1, 0)
        return self._replicas.speed[replica] / (1 + self._ratio * others)

    def _go_on(self, replica: int, now: float) -> None:
        self._done[replica] += (now - self._as_of[replica]) * self._pace(replica)
        self._as_of[replica] = now

    def _next(self, replica: int, now: float) -> None:
        ends = self._ends[replica]
        if ends:
            finish, step = ends[0]
            if self._first[replica] not in {step, -1}:
                self._due[self._first[replica]] = inf  # it will end later than was thought
            self._first[replica] = step
            instant = now + max(finish - self._done[replica], 0.0) / self._pace(replica)
            self._due[step] = instant
            heappush(self._events, (instant, 2 * step + 1))
