"""Plays one day: plans it, then sends its samples and spans through the real ports, in order of time."""

import json
import random
from pathlib import Path
from typing import Any

from opentelemetry.trace import format_trace_id

from collector.agent.outbox import Outbox
from collector.demo import tell_claude_code, tell_openinference, tell_otel_genai
from collector.demo.fleet import Deployment, deploy, place
from collector.demo.gpus import Hosts
from collector.demo.spans import Tellers
from collector.demo.story import Story
from collector.demo.tasks import TaskMaker
from collector.demo.telling import Ending, Telling
from collector.demo.truth import FILE, truth
from taximeter.clock import NS_PER_S, SYSTEM_CLOCK, ManualClock
from taximeter.errors import TaximeterError
from taximeter.say import say

SEED = 20_261_201
_PATIENCE_S = 60.0
_SEND_TICKS = 120  # ticks of the sampler in one request

TELL = {
    "otel_genai": tell_otel_genai.tell,
    "openinference": tell_openinference.tell,
    "claude_code": tell_claude_code.tell,
}


class Day:
    """One planned day of a story; the same seed gives the same day."""

    def __init__(self, told: Story, seed: int = SEED) -> None:
        self.story = told
        self.seed = seed
        self.tasks = TaskMaker(told, random.Random(seed)).day()  # noqa: S311
        self.deployments: dict[str, Deployment] = deploy(told.fleet)
        place(self.deployments, (call for task in self.tasks for call in task.root.calls()))

    @property
    def length_ns(self) -> int:
        """Length of the day."""
        return len(self.story.hours) * 3600 * NS_PER_S

    def play(self, http_url: str, grpc_target: str, until_ns: int) -> dict[str, Any]:
        """Send the day that ends at `until_ns`, and return its truth.

        Raises:
            TaximeterError: the collector did not take all of it.
        """
        start_ns = until_ns - self.length_ns
        outbox = Outbox(http_url, SYSTEM_CLOCK, say)
        outbox.open()
        tellers = Tellers(self.story.agents, http_url, grpc_target, random.Random(self.seed + 1))  # noqa: S311
        traces = self._tell(tellers, start_ns)
        self._sample(outbox, start_ns)
        unsent = outbox.close(_PATIENCE_S) + outbox.dropped
        lost = tellers.close()
        if unsent or lost:
            message = f"the simulated day was not taken: {lost} spans, {unsent} requests of samples missing"
            raise TaximeterError(message)
        return {"seed": self.seed, "start_ns": start_ns, **truth(self.tasks, traces, self.deployments)}

    def _tell(self, tellers: Tellers, start_ns: int) -> dict[int, str]:
        """End all spans in order of their end, as services do; return the trace id of each task."""
        endings: list[Ending] = []
        traces: dict[int, str] = {}
        for task in self.tasks:
            telling = Telling(tellers.tracer(task.agent), start_ns)
            TELL[task.agent.dialect](task, telling)
            traces[task.number] = format_trace_id(telling.endings[0][1].get_span_context().trace_id)
            endings += telling.endings
        for end_ns, span in sorted(endings, key=lambda ending: ending[0]):
            span.end(end_ns)
        return traces

    def _sample(self, outbox: Outbox, start_ns: int) -> None:
        interval_s = self.story.sample_interval_s
        clock = ManualClock(start_ns)
        hosts = Hosts(self.story, self.deployments, clock, start_ns, interval_s)
        ticks = round(self.length_ns / NS_PER_S / interval_s)
        for tick in range(ticks):
            clock.sleep(interval_s)
            hosts.sample()
            if (tick + 1) % _SEND_TICKS == 0 or tick + 1 == ticks:
                hosts.send(outbox)


def write_truth(folder: Path, told: dict[str, Any]) -> None:
    """Put the truth where tests find it; nothing else reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(told), encoding="utf-8")
