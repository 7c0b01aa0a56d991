"""A real service under a real policy beside its replay: fitted on one load, tried on another.

Replicas are processes that load, answer HTTP and end; the policy object is the one that is replayed. A call
takes as long as its tokens say; what else there is (loading Python, HTTP, threads) is the machine's own.
"""

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.outcome import Slo, measure, percentiles
from planner.policy import Observation, Policy
from planner.simulate import simulate
from planner.testing import made
from planner.workload import Step, Workload

REPLICA = Path(__file__).with_name("_planner_replica.py")
LOAD_S, FIXED_S, TOKENS_PER_S = 1.0, 0.05, 400.0
CONCURRENCY = 2
TURN_S = 6.0


class Task(NamedTuple):
    """When a task comes, and (tokens of a call, seconds of the tool after it) of each round."""

    at_s: float
    rounds: tuple[tuple[float, float], ...]


def plan(length_s: float, seed: int, busy_per_s: float = 3.0) -> list[Task]:
    """Draw tasks that come in turns of six busy and six quiet seconds: it is scale-ups that make waits."""
    random = Random(seed)
    found, now = [], 0.0
    while True:
        rate = busy_per_s if int(now / TURN_S) % 2 == 0 else busy_per_s / 8
        now += random.expovariate(rate)
        if now > length_s:
            return found
        rounds = tuple((20 + random.expovariate(0.01), random.expovariate(2.5)) for _ in range(6))
        found.append(Task(now, rounds))


class Served(NamedTuple):
    """One call as it was recorded, in seconds from the begin."""

    tokens: float
    arrived_s: float
    begun_s: float
    ended_s: float


class Place:
    """One of the calls that a replica serves at once, with its connection."""

    def __init__(self, replica: "Replica") -> None:
        self.replica = replica
        self.line = HTTPConnection("127.0.0.1", replica.port, timeout=30)


class Replica:
    """A process, and when it was asked for, ready and gone."""

    def __init__(self, number: int, asked_s: float) -> None:
        self.number, self.asked_s = number, asked_s
        self.ready_s: float | None = None
        self.gone_s: float | None = None
        self.port = self.flying = 0
        self.is_open = False
        self._places: list[Place] = []
        words = [str(word) for word in (LOAD_S, FIXED_S, TOKENS_PER_S)]
        self.process = subprocess.Popen(
            [sys.executable, str(REPLICA), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @property
    def serves_or_will(self) -> bool:
        """Whether it takes calls, or starts to; one that finishes what it has does not."""
        return self.is_open or (self.ready_s is None and self.gone_s is None)

    def open(self, port: int, now: float) -> list[Place]:
        """Be ready, and give the places."""
        self.port, self.ready_s, self.is_open = port, now, True
        self._places = [Place(self) for _ in range(CONCURRENCY)]
        return self._places

    def end(self, now: float) -> None:
        """Let the process go: it ends when its input does, or at once while it loads."""
        self.gone_s = now
        for place in self._places:
            place.line.close()
        if self.ready_s is None:
            self.process.kill()
        elif self.process.stdin:
            self.process.stdin.close()

    def reap(self) -> None:
        """Wait until the process is gone, which nobody else should wait for."""
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


class Service:
    """A queue before replicas, and a thread that asks the policy."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.zero_s = time.monotonic()
        self.replicas: list[Replica] = []
        self.calls: list[Served] = []
        self._slots: deque[Place] = deque()
        self._queue: deque[tuple[threading.Event, list[Place]]] = deque()
        self._lock = threading.RLock()
        self._in_system = self._arrived = self._finished = 0
        self._over = threading.Event()
        self._starters: list[threading.Thread] = []
        self._asking = threading.Thread(target=self._ask_on)

    def now(self) -> float:
        """Tell the seconds since the begin."""
        return time.monotonic() - self.zero_s

    def run(self, tasks: Sequence[Task]) -> float:
        """Serve the tasks to their end, let all replicas go, and tell how long it took."""
        self._asking.start()
        with ThreadPoolExecutor(200) as clients:
            for task in tasks:
                time.sleep(max(task.at_s - self.now(), 0.0))
                clients.submit(self._loop, task)
        end_s = self.now()
        self._over.set()
        self._asking.join()
        for replica in self.replicas:
            if replica.gone_s is None:
                replica.end(end_s)
        for starter in self._starters:
            starter.join()
        for replica in self.replicas:
            replica.reap()
        return end_s

    def held_s(self) -> float:
        """Tell the seconds that replicas were held, from being asked for to being let go."""
        return sum((replica.gone_s or 0.0) - replica.asked_s for replica in self.replicas)

    def cold_starts_s(self) -> list[float]:
        """List how long replicas took to be ready."""
        return [one.ready_s - one.asked_s for one in self.replicas if one.ready_s is not None]

    def _loop(self, task: Task) -> None:
        for tokens, tool_s in task.rounds:
            self._call(tokens)
            time.sleep(tool_s)

    def _call(self, tokens: float) -> None:
        arrived = self.now()
        place = self._take()
        begun = self.now()
        place.line.request("GET", f"/{tokens}")
        place.line.getresponse().read()
        ended = self.now()
        with self._lock:
            self.calls.append(Served(tokens, arrived, begun, ended))
            self._in_system -= 1
            self._finished += 1
            self._give(place)

    def _take(self) -> Place:
        with self._lock:
            self._in_system += 1
            self._arrived += 1
            while self._slots:
                place = self._slots.popleft()
                if place.replica.is_open:
                    place.replica.flying += 1
                    return place
            turn: tuple[threading.Event, list[Place]] = (threading.Event(), [])
            self._queue.append(turn)
            if self.policy.wakes_on_arrival and not any(one.serves_or_will for one in self.replicas):
                self._ask()
        turn[0].wait()
        return turn[1][0]

    def _give(self, place: Place) -> None:
        replica = place.replica
        replica.flying -= 1
        if replica.is_open:
            self._slots.append(place)
            self._serve_queue()
        elif not replica.flying:
            replica.end(self.now())

    def _serve_queue(self) -> None:
        while self._queue and self._slots:
            place = self._slots.popleft()
            if place.replica.is_open:
                place.replica.flying += 1
                event, given = self._queue.popleft()
                given.append(place)
                event.set()

    def _ask_on(self) -> None:
        number = 0
        while not self._over.wait(max(number * self.policy.interval_s - self.now(), 0.0)):
            number += 1
            with self._lock:
                self._ask()

    def _ask(self) -> None:
        ready = [one for one in self.replicas if one.is_open]
        starting = [one for one in self.replicas if one.ready_s is None and one.gone_s is None]
        waiting = len(self._queue)
        now = self.now()
        seen = Observation(
            now, now, len(ready), len(starting), waiting, self._in_system - waiting,
            self._arrived, self._finished, concurrency=CONCURRENCY,
        )  # fmt: skip
        target = self.policy.decide(seen)
        assert isinstance(target, int)  # noqa: S101 - one pool
        for _ in range(target - len(ready) - len(starting)):
            replica = Replica(len(self.replicas), now)
            self.replicas.append(replica)
            self._starters.append(threading.Thread(target=self._start, args=(replica,)))
            self._starters[-1].start()
        too_many = max(len(ready) + len(starting) - target, 0)
        for replica in starting[::-1][:too_many]:
            replica.end(now)
        for _ in range(min(too_many - len(starting), len(ready))):
            gone = min(ready, key=lambda one: (one.flying, -one.number))
            ready.remove(gone)
            gone.is_open = False
            if not gone.flying:
                gone.end(now)

    def _start(self, replica: Replica) -> None:
        line = replica.process.stdout.readline() if replica.process.stdout else ""
        with self._lock:
            if not line or replica.gone_s is not None:
                return
            self._slots.extend(replica.open(int(line), self.now()))
            self._serve_queue()


class Fitted(NamedTuple):
    """What one recorded load tells: a call's fixed seconds, seconds per token, and the cold start."""

    fixed_s: float
    token_s: float
    cold_start: Delay


def fit(service: Service) -> Fitted:
    """Fit a line through calls' served seconds over their tokens, and take the cold starts' percentiles."""
    tokens = [call.tokens for call in service.calls]
    served = [call.ended_s - call.begun_s for call in service.calls]
    mean_x, mean_y = sum(tokens) / len(tokens), sum(served) / len(served)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(tokens, served, strict=True))
    slope /= sum((x - mean_x) ** 2 for x in tokens)
    starts = sorted(service.cold_starts_s())
    return Fitted(
        mean_y - slope * mean_x,
        slope,
        Delay(starts[len(starts) // 2], max(starts[int(0.95 * len(starts))], starts[len(starts) // 2])),
    )


def predicted_load(tasks: Sequence[Task], fitted: Fitted) -> Workload:
    """Make the load of a plan, its calls timed by what was fitted on another load."""
    steps = []
    for number, task in enumerate(tasks):
        now = task.at_s
        for tokens, tool_s in task.rounds:
            call_s = fitted.fixed_s + tokens * fitted.token_s
            steps.append(Step(number, number, now, now + call_s, call_s, True, 0.0, tokens))
            now += call_s
            steps.append(Step(number, number, now, now + tool_s, tool_s, False))
            now += tool_s
    return made(steps)


class Trial(NamedTuple):
    """Measured beside predicted."""

    calls: int
    cold_starts: int
    held_s: float
    predicted_held_s: float
    wait_p95_s: float
    predicted_waits_p95_s: tuple[float, ...]  # of nine draws, in order

    @property
    def predicted_wait_p95_s(self) -> float:
        """The median of the draws."""
        return median(self.predicted_waits_p95_s)

    @property
    def held_error_ratio(self) -> float:
        """Relative error of the GPU time."""
        return abs(self.predicted_held_s / self.held_s - 1)

    @property
    def wait_error_ratio(self) -> float:
        """Relative error of the waits' 95th percentile."""
        return abs(self.predicted_wait_p95_s / self.wait_p95_s - 1)


def try_out(service: Service, tasks: Sequence[Task], fitted: Fitted, maker: Callable[[], Policy]) -> Trial:
    """Replay the plan that the service has served, with nine draws of cold starts; their medians count."""
    load = predicted_load(tasks, fitted)
    fleet = Fleet((Pool(concurrency=CONCURRENCY, cold_start=ColdStart(fitted.cold_start)),))
    outcomes = []
    for seed in range(1, 10):
        policy = maker()
        run = simulate(load, policy, fleet._replace(seed=seed))
        outcomes.append(measure(load, run, fleet, policy.name, Slo()))
    measured = percentiles([call.begun_s - call.arrived_s for call in service.calls])
    return Trial(
        len(service.calls),
        len(service.replicas),
        service.held_s(),
        median(outcome.gpu_hours for outcome in outcomes) * 3_600,
        measured.p95 or 0.0,
        tuple(sorted(outcome.wait.p95 or 0.0 for outcome in outcomes)),
    )
