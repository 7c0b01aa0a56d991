"""What happens in a task, told in no dialect: calls, tools and agents with their times and tokens.

Times are nanoseconds since the start of the day; tokens are canonical (input with cache, output with
reasoning).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from collector.demo import story


@dataclass(slots=True)
class Failure:
    """One try of a call that was turned away before it used a token."""

    start_ns: int
    end_ns: int
    error: str


@dataclass(slots=True)
class Call:
    """One call of a model, its failed tries included; the answer's try runs from `answer_ns` to `end_ns`."""

    start_ns: int
    answer_ns: int
    end_ns: int
    model: story.Model
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    ttft_ns: int
    asks: list["Tool"] = field(default_factory=list)
    is_cut: bool = False
    failures: list[Failure] = field(default_factory=list)
    replica: int | None = None


@dataclass(slots=True)
class Tool:
    """One run of a tool; it works from `work_ns`, after a person allowed it."""

    start_ns: int
    work_ns: int
    end_ns: int
    name: str
    arguments: str
    result: str
    result_tokens: int
    error: str | None = None


@dataclass(slots=True)
class Agent:
    """An agent at work: its calls and tools in order, and the sub-agents among them."""

    name: str
    start_ns: int
    end_ns: int
    steps: list["Call | Tool | Agent"]

    def calls(self) -> Iterator[Call]:
        """List all calls, those of sub-agents included."""
        for step in self.steps:
            if isinstance(step, Call):
                yield step
            elif isinstance(step, Agent):
                yield from step.calls()

    def tools(self) -> Iterator[Tool]:
        """List all runs of tools, those of sub-agents included."""
        for step in self.steps:
            if isinstance(step, Tool):
                yield step
            elif isinstance(step, Agent):
                yield from step.tools()


@dataclass(slots=True)
class Task:
    """One task of a user."""

    number: int
    agent: story.Agent
    task_type: str
    session: str
    user: str
    root: Agent
