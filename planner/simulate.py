"""Replaying a workload under a policy: discrete events, the same for the same seed."""

from collections import deque
from heapq import heappop, heappush
from math import inf, isnan
from typing import NamedTuple

from planner.fleet import Fleet
from planner.policy import Observation, Policy
from planner.replicas import DRAINING, READY, Replicas
from planner.workload import Workload

_LATEST_KEPT_S = 600.0
_ASK, _CHANGE, _PREEMPT = -1, -2, -3
_MOST_IDLE_ASKS = 10_000  # of a policy that never serves what waits


class Run(NamedTuple):
    """What happened, per step in the workload's order; nan where a step never came to that.

    Of a served step `arrived_s` is when it came to the deployment, `begun_s` when it was served (for the last
    time, where a pre-emption broke it off), `ended_s` its end. `unfinished` steps were still waiting when
    nothing more could happen. `decisions` are (instant, replicas wanted).
    """

    arrived_s: list[float]
    begun_s: list[float]
    ended_s: list[float]
    replicas: Replicas
    end_s: float
    unfinished: int
    preempted_steps: int
    decisions: list[tuple[float, int]]
    asked: int


def simulate(workload: Workload, policy: Policy, fleet: Fleet) -> Run:
    """Replay; runs to the workload's horizon or until its last step ends, whichever is later."""
    return _Replay(workload, policy, fleet).run()


class _Replay:
    """One replay: the clock, the queue and the steps; replicas and the policy's view stand beside it."""

    def __init__(self, workload: Workload, policy: Policy, fleet: Fleet) -> None:
        self._load = workload
        self._policy = policy
        self._fleet = fleet
        count = workload.steps
        nothing = float("nan")
        self._arrived = [nothing] * count
        self._begun = [nothing] * count
        self._ended = [nothing] * count
        self._due = [nothing] * count
        self._on = [-1] * count
        self._queue: deque[int] = deque()
        self._heap: list[tuple[float, int]] = []
        self._replicas = Replicas(fleet, self._heap, _CHANGE, _PREEMPT)
        self._counts = [0, 0, 0]  # arrived, finished, running
        self._area = [0.0, 0.0, 0.0]  # integral of those in the system, until when, tokens
        self._latest: deque[tuple[float, float, float]] = deque()
        self._between: dict[int, tuple[str, float]] | None = {} if "between" in policy.reads else None
        self._keeps_latest = "finished_last" in policy.reads
        self._seen: deque[Observation] = deque()
        self._decisions: list[tuple[float, int]] = []
        self._asked = 0
        self._steady_since = 0.0
        self._last_view: tuple[int | float | None, ...] = ()
        self._preempted_steps = 0

    def run(self) -> Run:
        self._replicas.open(self._policy.start)
        end_s = self._go()
        self._replicas.close(end_s)
        return Run(
            self._arrived,
            self._begun,
            self._ended,
            self._replicas,
            end_s,
            sum(isnan(end) for end in self._ended),
            self._preempted_steps,
            self._decisions,
            self._asked,
        )

    def _elsewhere(self, step: int, instant: float) -> None:
        self._arrived[step] = self._begun[step] = instant
        self._due[step] = instant + self._load.work_s[step]
        if self._between is not None:
            self._between[step] = (self._load.profiles[self._load.profile[step]], instant)

    def _go(self) -> float:  # noqa: C901, PLR0912, PLR0915 - the hot loop: a call per event would double its time
        load, heap, queue, replicas = self._load, self._heap, self._queue, self._replicas
        arrived, begun, ended, due, on = self._arrived, self._begun, self._ended, self._due, self._on
        gap_s, work_s, served, after, tokens = load.gap_s, load.work_s, load.served, load.after, load.tokens
        left, names, profile = list(load.before), load.profiles, load.profile
        state, flying, speed, slots = replicas.state, replicas.load, replicas.speed, replicas.slots
        busy_at, busy_by = replicas.busy_t.append, replicas.busy_by.append
        counts, area, latest, between = self._counts, self._area, self._latest, self._between
        keeps_latest, wakes = self._keeps_latest, self._policy.wakes_on_arrival
        company = replicas.company(load.slow_down, due)
        horizon, now = load.horizon_s, 0.0
        worked = 0.0
        n_arrived = n_finished = n_running = 0
        summed, since, token_sum = 0.0, 0.0, 0.0
        # Only the next of the steps that wait for nobody is an event yet, so that the heap stays small.
        firsts = iter(sorted((gap, step) for step, gap in enumerate(gap_s) if not left[step]))
        instant, next_first = next(firsts, (inf, -1))
        heappush(heap, (0.0, _ASK))
        if next_first >= 0:
            heappush(heap, (instant, 2 * next_first))
        while heap:
            now, code = heappop(heap)
            if code < 0:
                counts[0], counts[1], counts[2] = n_arrived, n_finished, n_running
                area[0] = summed + (n_arrived - n_finished) * (now - since)
                area[2] = token_sum
                if code == _ASK:
                    if not self._ask_again(now, horizon):
                        break
                elif code == _PREEMPT:
                    n_running -= self._break_off(now)
                else:
                    replicas.change(now)
                # New slots serve who waits.
                while queue and (replica := company.place() if company else replicas.free_slot()) >= 0:
                    step = queue.popleft()
                    begun[step] = now
                    on[step] = replica
                    n_running += 1
                    if company:
                        company.join(step, replica, now, work_s[step])
                    else:
                        if not flying[replica]:
                            busy_at(now)
                            busy_by(1)
                        flying[replica] += 1
                        due[step] = finish = now + work_s[step] / speed[replica]
                        heappush(heap, (finish, 2 * step + 1))
                continue
            step = code >> 1
            if code & 1:
                if due[step] != now:
                    continue  # it was broken off, or its company changed
                worked = now
                ended[step] = now
                replica = on[step]
                if replica >= 0:
                    summed += (n_arrived - n_finished) * (now - since)
                    since = now
                    n_finished += 1
                    if keeps_latest:
                        latest.append((now, now - arrived[step], begun[step] - arrived[step]))
                    if company:
                        company.leave(replica, now)
                        n_running -= 1
                        if state[replica] == DRAINING and not flying[replica]:
                            replicas.gone(replica, now)
                        if queue and (place := company.place()) >= 0:
                            waiting = queue.popleft()
                            begun[waiting] = now
                            on[waiting] = place
                            n_running += 1
                            company.join(waiting, place, now, work_s[waiting])
                    elif state[replica] == READY:
                        if queue:
                            waiting = queue.popleft()
                            begun[waiting] = now
                            on[waiting] = replica
                            due[waiting] = finish = now + work_s[waiting] / speed[replica]
                            heappush(heap, (finish, 2 * waiting + 1))
                        else:
                            n_running -= 1
                            flying[replica] -= 1
                            slots.append(replica)
                            if not flying[replica]:
                                busy_at(now)
                                busy_by(-1)
                    else:
                        n_running -= 1
                        flying[replica] -= 1
                        if not flying[replica]:
                            busy_at(now)
                            busy_by(-1)
                            replicas.gone(replica, now)
                elif between is not None:
                    del between[step]
                for later in after[step]:
                    left[later] -= 1
                    if not left[later]:
                        instant = now + gap_s[later]
                        if served[later] or (between is not None and instant > now):
                            heappush(heap, (instant, 2 * later))
                        else:
                            arrived[later] = begun[later] = instant
                            due[later] = finish = instant + work_s[later]
                            heappush(heap, (finish, 2 * later + 1))
                            if between is not None:
                                between[later] = (names[profile[later]], instant)
            else:
                if step == next_first:
                    instant, next_first = next(firsts, (inf, -1))
                    if next_first >= 0:
                        heappush(heap, (instant, 2 * next_first))
                if not served[step]:
                    self._elsewhere(step, now)
                    heappush(heap, (due[step], 2 * step + 1))
                    continue
                arrived[step] = now
                summed += (n_arrived - n_finished) * (now - since)
                since = now
                n_arrived += 1
                used = tokens[step]
                if used == used:  # noqa: PLR0124 - not nan
                    token_sum += used
                if company:
                    replica = company.place()
                    if replica >= 0:
                        begun[step] = now
                        on[step] = replica
                        n_running += 1
                        company.join(step, replica, now, work_s[step])
                    else:
                        queue.append(step)
                else:
                    replica = -1
                    while slots:
                        replica = slots.popleft()
                        if state[replica] == READY:
                            break
                        replica = -1
                    if replica >= 0:
                        begun[step] = now
                        on[step] = replica
                        n_running += 1
                        if not flying[replica]:
                            busy_at(now)
                            busy_by(1)
                        flying[replica] += 1
                        due[step] = finish = now + work_s[step] / speed[replica]
                        heappush(heap, (finish, 2 * step + 1))
                    else:
                        queue.append(step)
                if wakes and not replicas.ready and not replicas.starting:
                    counts[0], counts[1], counts[2] = n_arrived, n_finished, n_running
                    area[0], area[2] = summed, token_sum
                    self._ask(now)
        return max(worked, horizon) if not queue else max(now, horizon)

    def _ask_again(self, now: float, horizon: float) -> bool:
        """Ask the policy and set the next time; tell whether there is one.

        While nothing changes and the policy has settled, the questions up to the next event are left out:
        their answer is known.
        """
        policy, heap = self._policy, self._heap
        has_work = self._has_work()
        nothing_left = not has_work and not self._queue
        if nothing_left and now >= horizon:
            return False
        self._ask(now)
        step_s = (
            policy.interval_s if self._replicas.provisioned else policy.idle_interval_s or policy.interval_s
        )
        following = now + step_s
        if now - self._steady_since > policy.memory_s + self._fleet.scrape_lag_s:
            event = heap[0][0] if heap else horizon
            if not has_work and self._queue and not heap:
                return False  # it has settled on serving nobody
            if event > following:
                following += int((event - following) / step_s) * step_s
        elif not has_work and self._queue and now - self._steady_since > _MOST_IDLE_ASKS * step_s:
            return False
        if nothing_left and following > horizon:
            following = horizon
        heappush(heap, (following, _ASK))
        return True

    def _has_work(self) -> bool:
        """Tell whether a step will come or end by itself; replicas that start or are lost are no work."""
        heap = self._heap
        return len(heap) > 2 * len(self._replicas.state) or any(code >= 0 for _, code in heap)

    def _ask(self, now: float) -> None:
        seen = self._look(now)
        self._asked += 1
        target = self._policy.decide(seen)
        if self._replicas.want(target, now):
            self._steady_since = now
            self._decisions.append((now, sum(target) if isinstance(target, tuple) else target))

    def _look(self, now: float) -> Observation:
        replicas = self._replicas
        arrived, finished, running = self._counts
        queued = len(self._queue)
        view = (replicas.ready, replicas.starting, replicas.draining, queued, running, arrived, finished)
        if view != self._last_view:
            self._last_view, self._steady_since = view, now
        latest = self._latest
        while latest and latest[0][0] < now - _LATEST_KEPT_S:
            latest.popleft()
        between = self._between.values() if self._between else ()
        fresh = Observation(
            now, now, replicas.ready, replicas.starting, queued, running, arrived, finished,
            self._area[0], self._area[2], latest, between, tuple(replicas.ready_by_pool),
            self._fleet.pools[0].concurrency,
        )  # fmt: skip
        lag = self._fleet.scrape_lag_s
        if not lag:
            return fresh
        seen = self._seen
        seen.append(fresh._replace(finished_last=tuple(latest), between=tuple(between)))
        while len(seen) > 1 and seen[1].seen_s <= now - lag:
            seen.popleft()
        # Metrics come late; how many replicas there are is known at once.
        return seen[0]._replace(now_s=now, ready=fresh.ready, starting=fresh.starting)

    def _break_off(self, now: float) -> int:
        """Lose the replica that is pre-empted; its steps go back to the head of the queue, oldest first."""
        lost = self._replicas.preempted(now)
        if lost < 0:
            return 0
        broken = self._replicas.dropped
        if broken is None:
            flying = {code >> 1 for _, code in self._heap if code > 0 and code & 1}
            broken = [step for step in flying if self._on[step] == lost and isnan(self._ended[step])]
        for step in sorted(broken, key=lambda one: self._arrived[one], reverse=True):
            self._due[step] = inf
            self._on[step] = -1
            self._queue.appendleft(step)
        self._preempted_steps += len(broken)
        return len(broken)
