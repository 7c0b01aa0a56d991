"""The reader of story.yaml: who works, with what, on which cards."""

import uuid
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

Range = tuple[float, float]
_UUIDS = uuid.UUID("7c1d3f0e-5b1a-4f6e-9c39-3f8f4f2f7a10")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Stretch(_Part):
    """Hours of the day, counted from its start; half-open."""

    from_h: float
    to_h: float

    def holds(self, second: float) -> bool:
        """Tell whether a second of the day lies in it."""
        return self.from_h * 3600 <= second < self.to_h * 3600


class Lost(Stretch):
    """A card that the driver lost for a while."""

    card: int


class Storm(Stretch):
    """A while in which a larger share of calls fails."""

    share: float


class Failures(_Part):
    """How often the first try of a call fails."""

    share: float = 0
    error: str = ""
    storm: Storm | None = None


class Loops(_Part):
    """How often a task repeats one tool with the same arguments and result."""

    share: float = 0
    tool: str = ""


class Fleet(_Part):
    """Equal cards of one host and one deployment; without models nothing is loaded on them."""

    host: str
    deployment: str
    models: list[str]
    address: str | None = None
    concurrency: int | None = None
    sku: str
    card: str
    cards: int
    per_replica: int
    usd_per_gpu_hour: str
    total_mib: int
    reserved_mib: int
    used_mib: int
    idle_w: int
    busy_w: int
    limit_w: int
    lost: Lost | None = None

    @property
    def uuids(self) -> list[str]:
        """Name the cards, the same in every run."""
        return [f"GPU-{uuid.uuid5(_UUIDS, f'{self.deployment}/{card}')}" for card in range(self.cards)]

    @property
    def replicas(self) -> int:
        """Count the copies of the model."""
        return self.cards // self.per_replica


class Model(_Part):
    """A model: its speed in tokens a second, and how its provider counts what it cached."""

    name: str
    provider: str
    cache: Literal["blocks", "written"]
    block: int = 1
    deployment: str | None = None
    prefill: float
    decode: float
    reasoning: float = 0


class Tool(_Part):
    """A tool: how long it works, how much it answers, how often it fails or asks a person first."""

    seconds: Range
    tokens: Range
    read_only: bool = False
    errors: float = 0
    person: float = 0


class Loop(_Part):
    """How an agent works: rounds of one call and the tools it asks for, on a growing context."""

    name: str
    model: str
    rounds: tuple[int, int]
    first_prompt_tokens: Range
    output_tokens: Range
    answer_tokens: Range
    compact_tokens: int = 1_000_000
    tools: dict[str, float]
    failures: Failures = Failures()
    loops: Loops = Loops()


class Helpers(Loop):
    """Sub-agents that one round of the parent starts side by side."""

    count: tuple[int, int]


class Agent(Loop):
    """An agent that users start tasks with, and the instrumentation it tells them by."""

    service: str
    dialect: Literal["otel_genai", "openinference", "claude_code"]
    port: Literal["grpc", "http"]
    task_types: list[str]
    tasks: int
    helpers: Helpers | None = None
    at_once: int = 1_000_000


class Story(_Part):
    """All of it."""

    hours: list[float]
    sample_interval_s: float
    live_interval_s: float
    process_interval_s: float
    price_source: str
    fleet: list[Fleet]
    models: dict[str, Model]
    tools: dict[str, Tool]
    agents: list[Agent]


@cache
def story() -> Story:
    """Read the story that comes with the program."""
    text = files("collector.demo").joinpath("story.yaml").read_text(encoding="utf-8")
    return Story.model_validate(yaml.safe_load(text))
