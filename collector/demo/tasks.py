"""Makes tasks: when they arrive, and how their agents work. The same seed makes the same day."""

import random
from bisect import bisect
from heapq import heappop, heappush
from itertools import accumulate

from collector.demo.plan import Agent, Call, Failure, Task, Tool
from collector.demo.story import Agent as AgentStory
from collector.demo.story import Helpers, Loop, Range, Story
from taximeter.clock import NS_PER_S

_HOUR_S = 3600
_MARGIN_S = 20  # the last task of the day ends this long before it
_USERS = 9
_DELEGATES = {1, 3}  # rounds in which an agent with helpers starts them


class TaskMaker:
    """Makes tasks of one story with one source of chance."""

    def __init__(self, told: Story, rng: random.Random) -> None:
        self._story = told
        self._rng = rng

    def day(self) -> list[Task]:
        """Make all tasks of the day, in order of their start."""
        end_ns = (len(self._story.hours) * _HOUR_S - _MARGIN_S) * NS_PER_S
        tasks: list[Task] = []
        for agent in self._story.agents:
            open_until: list[int] = []
            for start_s in self._arrivals(agent.tasks):
                start_ns = round(start_s * NS_PER_S)
                while open_until and open_until[0] <= start_ns:
                    heappop(open_until)
                if len(open_until) >= agent.at_once:  # users wait for a free seat
                    start_ns = heappop(open_until)
                task = self.task(agent, len(tasks), start_ns)
                heappush(open_until, task.root.end_ns)
                if task.root.end_ns <= end_ns:
                    tasks.append(task)
        tasks.sort(key=lambda task: (task.root.start_ns, task.session))
        for number, task in enumerate(tasks):
            task.number = number
        return tasks

    def task(self, agent: AgentStory, number: int, start_ns: int) -> Task:
        """Make one task of an agent."""
        rng = self._rng
        task_type = rng.choice(agent.task_types)
        session = f"{agent.name}-{rng.getrandbits(40):010x}"
        root = _Work(self._story, rng, agent, start_ns).run(agent.helpers)
        return Task(number, agent, task_type, session, f"user-{rng.randrange(_USERS)}", root)

    def _arrivals(self, count: int) -> list[float]:
        """Spread arrivals over the day as its hours say; seconds since its start."""
        steps = list(accumulate(self._story.hours))
        seconds = []
        for _ in range(count):
            at = self._rng.random() * steps[-1]
            hour = bisect(steps, at)
            before = steps[hour - 1] if hour else 0.0
            seconds.append((hour + (at - before) / self._story.hours[hour]) * _HOUR_S)
        return sorted(seconds)


class _Work:
    """One agent working through its rounds: a cursor in time and a context that grows."""

    def __init__(self, told: Story, rng: random.Random, loop: Loop, start_ns: int) -> None:
        self._story = told
        self._rng = rng
        self._loop = loop
        self._model = told.models[loop.model]
        self._start_ns = start_ns
        self._now_ns = start_ns + _ns(rng.uniform(0.005, 0.04))
        self._context = self._pick(loop.first_prompt_tokens)
        self._cached = 0
        self._steps: list[Call | Tool | Agent] = []

    def run(self, helpers: Helpers | None = None) -> Agent:
        """Work to the end: rounds with tools, then an answer; now and then it is cut or runs in a circle."""
        rounds = self._rng.randint(*self._loop.rounds)
        loops = self._rng.random() < self._loop.loops.share
        circle_at = rounds // 2 if loops else -1
        for number in range(rounds - 1):
            if number == circle_at:
                self._run_in_a_circle()
            elif helpers and number in _DELEGATES:
                self._delegate(helpers)
            else:
                self._round()
        self._answer()
        return Agent(self._loop.name, self._start_ns, self._now_ns + _ns(0.01), self._steps)

    def _round(self) -> None:
        name = self._rng.choices(list(self._loop.tools), list(self._loop.tools.values()))[0]
        call = self._call(self._loop.output_tokens)
        tool = self._tool(name)
        call.asks = [tool]
        self._take(call, tool.result_tokens)
        if tool.error:  # the model reads the error and asks for the same tool again
            again = self._call(self._loop.output_tokens)
            second = self._tool(name, may_fail=False)
            again.asks = [second]
            self._take(again, second.result_tokens)

    def _run_in_a_circle(self) -> None:
        """Ask three times for the same thing and get the same result."""
        call = self._call(self._loop.output_tokens)
        first = self._tool(self._loop.loops.tool, may_fail=False)
        call.asks = [first]
        self._take(call, first.result_tokens)
        for _ in range(2):
            call = self._call(self._loop.output_tokens)
            tool = self._tool(self._loop.loops.tool, may_fail=False)
            tool.arguments, tool.result, tool.result_tokens = (
                first.arguments,
                first.result,
                first.result_tokens,
            )
            call.asks = [tool]
            self._take(call, tool.result_tokens)

    def _delegate(self, helpers: Helpers) -> None:
        call = self._call(self._loop.output_tokens)
        asked: list[Agent] = []
        for number in range(self._rng.randint(*helpers.count)):
            start_ns = self._now_ns + _ns(0.02 * (number + 1))
            asked.append(_Work(self._story, self._rng, helpers, start_ns).run())
        self._steps += asked
        self._now_ns = max(agent.end_ns for agent in asked) + _ns(self._rng.uniform(0.02, 0.2))
        call.asks = [
            Tool(0, 0, 0, "delegate", f'{{"helper":"{helpers.name}","part":{n}}}', "", 0)
            for n in range(len(asked))
        ]
        self._take(call, sum(list(agent.calls())[-1].output_tokens for agent in asked))

    def _answer(self) -> None:
        call = self._call(self._loop.answer_tokens)
        call.is_cut = self._rng.random() < 0.015  # noqa: PLR2004

    def _call(self, output: Range) -> Call:
        rng, model = self._rng, self._model
        failures = self._failures()
        start_ns = self._now_ns
        answer_ns = failures[-1].end_ns + _ns(rng.uniform(0.4, 1.6)) if failures else start_ns
        read, written = self._cache()
        output_tokens = self._pick(output)
        reasoning = round(output_tokens * model.reasoning * rng.uniform(0.5, 1.5))
        ttft_s = 0.12 + (self._context - read) / model.prefill + rng.uniform(0.02, 0.15)
        end_ns = answer_ns + _ns(ttft_s + output_tokens / (model.decode * rng.uniform(0.8, 1.1)))
        call = Call(
            start_ns=start_ns,
            answer_ns=answer_ns,
            end_ns=end_ns,
            model=model,
            input_tokens=self._context,
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=output_tokens,
            reasoning_tokens=reasoning,
            ttft_ns=_ns(ttft_s),
        )
        call.failures = failures
        self._steps.append(call)
        self._now_ns = end_ns + _ns(rng.uniform(0.005, 0.06) if rng.random() < 0.9 else rng.uniform(0.5, 3))  # noqa: PLR2004
        return call

    def _cache(self) -> tuple[int, int]:
        """Tokens read from and written to the provider's cache, by its way of counting."""
        if self._model.cache == "written":
            return self._cached, max(0, self._context - self._cached - self._rng.randint(4, 12))
        return self._cached // self._model.block * self._model.block, 0

    def _failures(self) -> list[Failure]:
        told, second = self._loop.failures, self._now_ns / NS_PER_S
        share = told.storm.share if told.storm and told.storm.holds(second) else told.share
        failures: list[Failure] = []
        start_ns = self._now_ns
        while len(failures) < 3 and self._rng.random() < share:  # noqa: PLR2004
            end_ns = start_ns + _ns(self._rng.uniform(0.08, 0.4))
            failures.append(Failure(start_ns, end_ns, told.error))
            start_ns = end_ns + _ns(self._rng.uniform(0.4, 1.5) * 2 ** len(failures))
        return failures

    def _tool(self, name: str, *, may_fail: bool = True) -> Tool:
        rng, told = self._rng, self._story.tools[name]
        start_ns = self._now_ns
        work_ns = start_ns + (_ns(rng.uniform(2, 40)) if rng.random() < told.person else 0)
        end_ns = work_ns + _ns(rng.uniform(*told.seconds))
        fails = may_fail and rng.random() < told.errors
        tokens = 40 if fails else self._pick(told.tokens)
        mark = f"{rng.getrandbits(32):08x}"
        tool = Tool(
            start_ns, work_ns, end_ns, name, f'{{"about":"{mark}"}}', f'{{"{name}":"{mark}"}}', tokens,
            "TimeoutError" if fails else None,
        )  # fmt: skip
        self._steps.append(tool)
        self._now_ns = end_ns + _ns(rng.uniform(0.005, 0.05))
        return tool

    def _take(self, call: Call, new_tokens: int) -> None:
        """Let the context grow by the answer and the results, or be compacted where it got too long."""
        written = self._model.cache == "written"
        self._cached = call.cache_read_tokens + call.cache_write_tokens if written else call.input_tokens
        self._context = call.input_tokens + call.output_tokens - call.reasoning_tokens + new_tokens
        if self._context > self._loop.compact_tokens:
            self._context = round(self._loop.compact_tokens * 0.2)
            self._cached = 0

    def _pick(self, limits: Range) -> int:
        low, high = limits
        return round(low + (high - low) * self._rng.betavariate(1.6, 2.6))


def _ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)
