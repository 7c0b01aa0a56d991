"""The planner: a million steps under every policy, the same queue in SimPy, and where scale-to-zero pays.

Run: `python -m benchmarks planner`. SimPy is compared with only where it is installed (MIT, on PyPI); the
loads of the last part lie in the shared data. What the parts tell replaces what docs/planner.md told of them;
`python -m benchmarks.planner speed live` runs two of them.
"""

import importlib.util
import resource
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import _planner_judge as judging
from benchmarks import _planner_live as lively
from planner.backtest import Case
from planner.catalogue import all_policies, make_policy
from planner.facts import look
from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.outcome import Slo, measure
from planner.policies.agent_autoscale import AgentAutoscale, Exact, Trigger
from planner.policies.queue_length import QueueLength
from planner.simulate import simulate
from planner.testing import loops
from planner.workload import Workload

PAGE = Path(__file__).parents[1] / "docs/planner.md"
STEPS = 1_000_000
COMPARED = 200_000
FLEET = Fleet((Pool(concurrency=32, cold_start=ColdStart(Delay(30, 30))),))


def speed() -> Iterator[str]:
    """Replay a million steps of closed loops over a day under every policy."""
    begun = time.process_time()
    load = loops(STEPS // 100, 50, 86_400.0)
    yield (f"{load.steps:,} steps made and joined in {time.process_time() - begun:.1f} CPU-s")
    case = Case(load, FLEET, look(load, FLEET, 3))
    for named in all_policies(case.facts).all():
        policy = make_policy(named, case.facts)
        begun = time.process_time()
        run = simulate(load, policy, FLEET)
        replayed = time.process_time() - begun
        outcome = measure(load, run, FLEET, policy.name, case.slo)
        measured = time.process_time() - begun - replayed
        yield (
            f"  {policy.name:22} {replayed:5.2f} CPU-s replayed, {measured:4.2f} measured, {run.asked:7,}"
            f" decisions, {outcome.gpu_hours:6.1f} GPU-h, wait p95 {outcome.wait.p95:.2f} s"
        )


def memory() -> Iterator[str]:
    """Replay growing loads in processes of their own: memory must grow with the steps and no faster."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        grown = [pool.submit(_grown_mib, tasks).result() for tasks in (2_500, 5_000, 10_000)]
    told = ", ".join(f"{mib:,.0f}" for mib in grown)
    yield f"MiB for a quarter, a half and a whole million steps: {told}"


def _grown_mib(tasks: int) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    load = loops(tasks, 50, 8.64 * tasks)
    run = simulate(load, QueueLength(max_replicas=40), FLEET)
    measure(load, run, FLEET, "queue_length", Slo())
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def live(length_s: float = 96.0) -> Iterator[str]:
    """Run a real service under two policies: fit on one load, and try the replay on another."""
    makers = {
        "queue_length": lambda: QueueLength(tick_s=0.5, down_after_s=3.0, max_replicas=12),
        "agent_autoscale": lambda: AgentAutoscale(
            up=Trigger("queue", 0.0, 0.0), idle_s=3.0, max_replicas=12, exact=Exact(breaches=1, tick_s=0.5)
        ),
    }
    for name, maker in makers.items():
        first = lively.Service(maker())
        first.run(lively.plan(length_s, seed=1))
        fitted = lively.fit(first)
        tasks = lively.plan(length_s, seed=2)
        second = lively.Service(maker())
        second.run(tasks)
        trial = lively.try_out(second, tasks, fitted, maker)
        yield (
            f"live, {name}: {trial.calls:,} calls, {trial.cold_starts} cold starts;"
            f" replicas held {trial.held_s:.1f} s, predicted {trial.predicted_held_s:.1f} s"
            f" ({trial.held_error_ratio:.1%}); wait p95 {trial.wait_p95_s:.3f} s,"
            f" predicted {trial.predicted_wait_p95_s:.3f} s ({trial.wait_error_ratio:.1%};"
            f" nine draws {trial.predicted_waits_p95_s[0]:.3f} to {trial.predicted_waits_p95_s[-1]:.3f} s);"
            f" fitted {fitted.fixed_s * 1e3:.1f} ms + {1 / fitted.token_s:.0f} tokens/s,"
            f" cold start {fitted.cold_start.p50_s:.2f} s"
        )


def beside_simpy() -> Iterator[str]:
    """Replay the same loops under the same policy here and in a plain SimPy model."""
    if importlib.util.find_spec("simpy") is None:
        yield ("SimPy is not installed: nothing to compare with")
        return
    load = loops(COMPARED // 100, 50, 20_000.0, seed=3)
    fleet = Fleet((Pool(concurrency=8, most=40, cold_start=ColdStart(Delay(30, 30))),))
    begun = time.process_time()
    run = simulate(load, QueueLength(max_replicas=40), fleet)
    ours = time.process_time() - begun
    waits = [b - a for a, b, served in zip(run.arrived_s, run.begun_s, load.served, strict=True) if served]
    begun = time.process_time()
    theirs_waits = Simpy(load, QueueLength(max_replicas=40), 8, 30.0).run()
    theirs = time.process_time() - begun
    yield (
        f"{load.steps:,} steps, queue_length: ours {ours:.2f} CPU-s,"
        f" SimPy {theirs:.2f} CPU-s ({theirs / ours:.1f} x)"
    )
    for share in (0.5, 0.95, 0.99):
        here, there = (sorted(values)[int(share * len(values))] for values in (waits, theirs_waits))
        yield (f"  wait p{share * 100:g}: {here:.3f} s and {there:.3f} s")
    yield (f"  mean wait: {sum(waits) / len(waits):.3f} s and {sum(theirs_waits) / len(theirs_waits):.3f} s")


class Simpy:
    """The same replay as a SimPy model: a process per step, replicas as events, the same policy object."""

    def __init__(self, load: Workload, policy: Any, concurrency: int, cold_start_s: float) -> None:
        import simpy

        self.env = simpy.Environment()
        self.load, self.policy = load, policy
        self.concurrency, self.cold_start_s = concurrency, cold_start_s
        self.left = list(load.before)
        self.queue: deque[Any] = deque()
        self.ready: list[Replica] = []
        self.slots: deque[Replica] = deque()
        self.starting = self.started = 0
        self.in_system = 0
        self.to_do = load.steps
        self.waits: list[float] = []

    def run(self) -> list[float]:
        """Run until every step has ended, and give the waits of calls."""
        for step, waits in enumerate(self.load.before):
            if not waits:
                self.env.process(self.step(step))
        self.env.process(self.ask())
        self.env.run()
        return self.waits

    def step(self, step: int) -> Any:
        """Wait for the pause, for a place if it is a call, and for the work; then go on with the next."""
        yield self.env.timeout(self.load.gap_s[step])
        if self.load.served[step]:
            came = self.env.now
            self.in_system += 1
            place = self.take()
            if place is None:
                turn = self.env.event()
                self.queue.append(turn)
                if not self.ready and not self.starting:
                    self.decide()
                place = yield turn
            self.waits.append(self.env.now - came)
            yield self.env.timeout(self.load.work_s[step])
            self.in_system -= 1
            self.give(place)
        else:
            yield self.env.timeout(self.load.work_s[step])
        self.to_do -= 1
        for later in self.load.after[step]:
            self.left[later] -= 1
            if not self.left[later]:
                self.env.process(self.step(later))

    def take(self) -> Any:
        """Take the place that has been free for longest; None where there is none."""
        while self.slots:
            replica = self.slots.popleft()
            if replica.is_open:
                replica.flying += 1
                return replica
        return None

    def give(self, replica: Any) -> None:
        """Give a place back, to who waits if the replica stays."""
        replica.flying -= 1
        if not replica.is_open:
            return
        if self.queue:
            replica.flying += 1
            self.queue.popleft().succeed(replica)
        else:
            self.slots.append(replica)

    def ask(self) -> Any:
        """Ask the policy at its interval for as long as there is work."""
        while self.to_do:
            self.decide()
            yield self.env.timeout(self.policy.interval_s)

    def decide(self) -> None:
        """Ask the policy once, and start or let go."""
        from planner.testing import look as see

        ready, waiting = len(self.ready), len(self.queue)
        seen = see(self.env.now, ready, 0, concurrency=self.concurrency)
        seen = seen._replace(starting=self.starting, queued=waiting, running=self.in_system - waiting)
        target = self.policy.decide(seen)
        for _ in range(target - ready - self.starting):
            self.starting += 1
            self.env.process(self.start())
        for _ in range(min(ready + self.starting - target, ready)):
            gone = min(self.ready, key=lambda one: (one.flying, -one.number))
            gone.is_open = False
            self.ready.remove(gone)

    def start(self) -> Any:
        """Start a replica, and let those who wait in."""
        yield self.env.timeout(self.cold_start_s)
        self.starting -= 1
        self.started += 1
        replica = Replica(self.started)
        self.ready.append(replica)
        self.slots.extend([replica] * self.concurrency)
        while self.queue and (place := self.take()):
            self.queue.popleft().succeed(place)


class Replica:
    """A replica of the SimPy model."""

    def __init__(self, number: int) -> None:
        self.number, self.flying, self.is_open = number, 0, True


def judge() -> Iterator[str]:
    """Tell where scale-to-zero pays on loads that others recorded."""
    rows = [row for load in judging.loads() for row in judging.judge(load)]
    yield judging.answer(rows)
    yield judging.table(rows)


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "speed": speed,
    "memory": memory,
    "simpy": beside_simpy,
    "live": live,
    "judged": judge,
}


def publish(part: str, text: str) -> None:
    """Put a part's text between its marks on the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(f"<!-- {part} -->\n")
    _, end, after = rest.partition(f"<!-- /{part} -->")
    if begin and end:
        PAGE.write_text(before + begin + text + end + after, encoding="utf-8")


def main() -> None:
    """Run the parts that are named, or all, and write what they tell on the page."""
    for part in sys.argv[1:] or PARTS:
        lines = []
        for line in PARTS[part]():
            print(line, flush=True)
            lines.append(line)
        text = "\n".join(lines).strip() + "\n"
        publish(part, text if part == "judged" else f"```\n{text}```\n")


if __name__ == "__main__":
    main()
