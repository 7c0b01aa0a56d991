"""The replicas of a replay: started, ready, drained, lost; who serves, and what was held."""

from array import array
from collections import deque
from heapq import heappop, heappush
from random import Random

from planner.company import Company
from planner.fleet import Fleet
from planner.policy import Target

STARTING, READY, DRAINING, GONE = range(4)


class Replicas:
    """All replicas there ever were, by number; a replica that is gone keeps its figures.

    `busy_t` and `busy_by` log when one began to serve (+1) and when it served nobody any more (-1),
    `up_t` and `up_by` when one became ready and when it was gone.
    """

    def __init__(self, fleet: Fleet, events: list[tuple[float, int]], change: int, preempt: int) -> None:
        """Put the instants at which something happens by itself into `events`, under these two codes."""
        self._fleet = fleet
        self._events = events
        self._change, self._preempt = change, preempt
        self._random = Random(fleet.seed)  # noqa: S311 - a replay must be the same each time
        self.state: list[int] = []
        self.pool: list[int] = []
        self.load: list[int] = []
        self.speed: list[float] = []
        self.asked_s: list[float] = []
        self.ready_s: list[float | None] = []
        self.gone_s: list[float | None] = []
        self.slots: deque[int] = deque()
        self.ready = self.starting = self.draining = 0
        self.cold_starts = self.hot_wakes = self.preemptions = 0
        self.ready_by_pool = [0] * len(fleet.pools)
        self.busy_t, self.busy_by = array("d"), array("b")
        self.up_t, self.up_by = array("d"), array("b")
        self._living: list[list[int]] = [[] for _ in fleet.pools]
        self._coming: list[tuple[float, int]] = []
        self._losses: list[tuple[float, int]] = []
        self._asleep: list[list[float]] = [[] for _ in fleet.pools]
        self._company: Company | None = None
        self.dropped: list[int] | None = None  # what the last lost replica served, if company slows down

    @property
    def provisioned(self) -> int:
        """Replicas that serve or will."""
        return self.ready + self.starting

    def company(self, slow_down: float, due: list[float]) -> Company | None:
        """Make what serves steps in company, where company slows them down; None where it does not."""
        if slow_down > 0:
            limits = [pool.concurrency for pool in self._fleet.pools]
            self._company = Company(slow_down, limits, self, due, self._events)
        return self._company

    def open(self, count: int) -> None:
        """Stand there with that many, ready at second 0."""
        for pool, wanted in enumerate(self._spread(count)):
            for _ in range(wanted):
                self._stand(self._add(pool, 0.0), 0.0)

    def free_slot(self) -> int:
        """Take a place on a replica that serves; -1 where there is none."""
        slots, state = self.slots, self.state
        while slots:
            replica = slots.popleft()
            if state[replica] == READY:
                return replica
        return -1

    def ready_ones(self) -> list[int]:
        """List those that take new steps."""
        return [one for living in self._living for one in living if self.state[one] == READY]

    def want(self, target: Target, now: float) -> bool:
        """Start or let go until as many are wanted; tell whether anything was done."""
        wanted = target if isinstance(target, tuple) else self._spread_change(max(target, 0))
        is_changed = False
        for pool, count in enumerate(wanted):
            held = sum(self.state[one] < DRAINING for one in self._living[pool])
            count = min(max(count, 0), self._fleet.pools[pool].most)  # noqa: PLW2901
            for _ in range(count - held):
                self._begin(pool, now)
            if count < held:
                self._let_go(pool, held - count, now)
            is_changed |= count != held
        return is_changed

    def change(self, now: float) -> None:
        """Make ready what has started by now."""
        while self._coming and self._coming[0][0] <= now:
            _, replica = heappop(self._coming)
            if self.state[replica] == STARTING:
                self.starting -= 1
                self._stand(replica, now)

    def gone(self, replica: int, now: float) -> None:
        """End a replica that serves nobody any more."""
        if self.state[replica] == DRAINING:
            self.draining -= 1
            self._asleep[self.pool[replica]].append(now)
        elif self.state[replica] == READY:
            self.ready -= 1
            self.ready_by_pool[self.pool[replica]] -= 1
        self.state[replica] = GONE
        self.gone_s[replica] = now
        self.up_t.append(now)
        self.up_by.append(-1)
        self._living[self.pool[replica]].remove(replica)

    def preempted(self, now: float) -> int:
        """Lose the replica whose time has come; -1 where it is gone already."""
        _, replica = heappop(self._losses)
        if self.state[replica] not in {READY, DRAINING}:
            return -1
        if self.load[replica]:
            self.busy_t.append(now)
            self.busy_by.append(-1)
        self.load[replica] = 0
        if self._company:
            self.dropped = self._company.drop(replica)
        was_draining = self.state[replica] == DRAINING
        self.gone(replica, now)
        if was_draining:
            self._asleep[self.pool[replica]].pop()
        self.preemptions += 1
        return replica

    def close(self, end_s: float) -> None:
        """End the replay: what is held until then is gone then."""
        for replica, state in enumerate(self.state):
            if state == STARTING:
                self.gone_s[replica] = end_s
            elif state != GONE:
                if self.load[replica]:
                    self.busy_t.append(end_s)
                    self.busy_by.append(-1)
                self.gone(replica, end_s)

    def _add(self, pool: int, now: float) -> int:
        self.state.append(STARTING)
        self.pool.append(pool)
        self.load.append(0)
        self.speed.append(self._fleet.pools[pool].speed)
        self.asked_s.append(now)
        self.ready_s.append(None)
        self.gone_s.append(None)
        replica = len(self.state) - 1
        self._living[pool].append(replica)
        if self._company:
            self._company.add()
        return replica

    def _begin(self, pool: int, now: float) -> None:
        replica = self._add(pool, now)
        self.starting += 1
        start = self._fleet.pools[pool].cold_start
        asleep = self._asleep[pool]
        is_hot = start.hot is not None and bool(asleep) and now - asleep[-1] <= start.hot_for_s
        delay = start.full
        if is_hot and start.hot is not None:
            asleep.pop()
            delay = start.hot
        self.cold_starts += not is_hot
        self.hot_wakes += is_hot
        instant = now + delay.draw(self._random)
        heappush(self._coming, (instant, replica))
        heappush(self._events, (instant, self._change))

    def _stand(self, replica: int, now: float) -> None:
        pool = self.pool[replica]
        self.state[replica] = READY
        self.ready_s[replica] = now
        self.ready += 1
        self.ready_by_pool[pool] += 1
        self.up_t.append(now)
        self.up_by.append(1)
        self.slots.extend([replica] * self._fleet.pools[pool].concurrency)
        hazard = self._fleet.pools[pool].preempted_per_hour
        if hazard > 0:
            instant = now + self._random.expovariate(hazard / 3_600)
            heappush(self._losses, (instant, replica))
            heappush(self._events, (instant, self._preempt))

    def _let_go(self, pool: int, count: int, now: float) -> None:
        """Let go of what starts (newest first), then of who serves fewest; who serves drains first."""
        state, load = self.state, self.load
        order = [one for one in self._living[pool] if state[one] < DRAINING]
        order.sort(key=lambda one: (state[one], load[one], -one))
        for replica in order[:count]:
            if state[replica] == STARTING:
                self.starting -= 1
                state[replica] = GONE
                self.gone_s[replica] = now
                self._living[pool].remove(replica)
                continue
            self.ready -= 1
            self.ready_by_pool[pool] -= 1
            state[replica] = DRAINING
            self.draining += 1
            if not load[replica]:
                self.gone(replica, now)

    def _spread(self, count: int) -> tuple[int, ...]:
        """Fill the pools in their order."""
        found = []
        for pool in self._fleet.pools:
            found.append(min(count, pool.most))
            count -= found[-1]
        return tuple(found)

    def _spread_change(self, count: int) -> tuple[int, ...]:
        return (count,) if len(self._fleet.pools) == 1 else self._spread(count)
