"""Goes on after the simulated day in real time: a task now and then, samples at every interval."""

import random
from heapq import heappop, heappush
from itertools import count

from opentelemetry.trace import Span

from collector.agent.outbox import Outbox
from collector.agent.stop import Stop
from collector.demo.day import TELL
from collector.demo.fleet import deploy, place
from collector.demo.gpus import Hosts
from collector.demo.spans import Tellers
from collector.demo.story import Story
from collector.demo.tasks import TaskMaker
from collector.demo.telling import Telling
from taximeter.clock import Clock
from taximeter.say import say

_LOOK_S = 0.25
_PAUSE_S = (20.0, 90.0)  # between the starts of two tasks
_PATIENCE_S = 5.0

_Due = tuple[int, int, Span]  # end, number of arrival, span


class Live:
    """Simulated agents at work now. Every span is sent when it ends, every sample when it is taken."""

    def __init__(self, told: Story, http_url: str, grpc_target: str, clock: Clock) -> None:
        self._story = told
        self._clock = clock
        self._start_ns = clock.now_ns()
        self._rng = random.Random(self._start_ns)  # noqa: S311
        self._maker = TaskMaker(told, self._rng)
        # The day's lost card is back: the story of a day is not told twice.
        self._deployments = deploy(fleet.model_copy(update={"lost": None}) for fleet in told.fleet)
        self._hosts = Hosts(told, self._deployments, clock, self._start_ns, told.live_interval_s)
        self._tellers = Tellers(told.agents, http_url, grpc_target, self._rng)
        self._outbox = Outbox(http_url, clock, say)
        self._ending: list[_Due] = []
        self._numbers = count()

    def run(self, stop: Stop) -> None:
        """Go on until asked to stop; spans still open then are never sent, as of a program that dies."""
        self._outbox.open()
        next_task_s = next_sample_s = self._clock.monotonic_s()
        while not stop.asked:
            now_s = self._clock.monotonic_s()
            if now_s >= next_sample_s:
                next_sample_s = max(next_sample_s + self._story.live_interval_s, now_s)
                self._hosts.sample()
                self._hosts.send(self._outbox)
            if now_s >= next_task_s:
                next_task_s = now_s + self._rng.uniform(*_PAUSE_S)
                self._begin()
            self._end_due()
            self._clock.sleep(_LOOK_S)
        self._tellers.close()
        self._outbox.close(_PATIENCE_S)

    def _begin(self) -> None:
        weights = [agent.tasks for agent in self._story.agents]
        agent = self._rng.choices(self._story.agents, weights)[0]
        start_ns = self._clock.now_ns() - self._start_ns
        task = self._maker.task(agent, next(self._numbers), start_ns)
        place(self._deployments, task.root.calls())
        telling = Telling(self._tellers.tracer(agent), self._start_ns)
        TELL[agent.dialect](task, telling)
        for end_ns, span in telling.endings:
            heappush(self._ending, (end_ns, next(self._numbers), span))

    def _end_due(self) -> None:
        now_ns = self._clock.now_ns()
        while self._ending and self._ending[0][0] <= now_ns:
            end_ns, _, span = heappop(self._ending)
            span.end(end_ns)
