"""What happened: fleets, samples, prices and steps, written by hand or made up at random."""

import random
from dataclasses import dataclass, field
from functools import cached_property

S = 1_000_000_000
QUARTER = 900 * S
FOREVER = (1 << 63) - 1
Stretch = tuple[int, int]


@dataclass
class Card:
    """One GPU; without samples it is one that only the settings declare."""

    host: str
    index: int
    samples: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    deployment: str | None = None
    slot: int = 0
    simulated: bool = False
    name: str = "NVIDIA H100 80GB HBM3"

    @cached_property
    def uuid(self) -> str:
        return f"GPU-{self.host}-{self.index}"

    @cached_property
    def gpu_id(self) -> str:
        if self.samples:
            return f"{self.host}/{self.uuid}/{self.index}"
        return f"declared/{self.deployment}/{self.slot}"


@dataclass
class Fleet:
    """One deployment as the settings tell it. Prices are (from, to, millionths of a USD per hour)."""

    name: str
    cards: int
    per_replica: int = 1
    concurrency: int | None = None
    held: list[Stretch] = field(default_factory=list)
    prices: list[tuple[int, int, int]] = field(default_factory=list)
    sku_name: str | None = None

    @property
    def sku(self) -> str:
        return self.sku_name or f"sku-{self.name}"


@dataclass
class Step:
    """One counted leaf. `busy` is when it occupies its deployment; a tool's own work is its last `work`."""

    task: str
    name: str
    kind: str
    start: int
    end: int
    deployment: str | None = None
    replica: str | None = None
    busy: Stretch | None = None
    work: int | None = None
    person: bool = False
    tool: str = "Bash"
    tokens: tuple[int, int, int] | None = None  # input, of it cached, output


@dataclass
class World:
    """Everything that one test knows."""

    now: int
    fleets: list[Fleet] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    interval: int = S
    tolerance: int = S // 5
    released_after: int = QUARTER
    busy_ratio: float = 0.05
    weights: str = "equal"

    def plus(self, other: "World") -> "World":
        """Two worlds that share no name, seen at once."""
        return World(
            max(self.now, other.now),
            self.fleets + other.fleets,
            self.cards + other.cards,
            self.steps + other.steps,
        )


def random_world(seed: int, place: int) -> World:
    """Make up half a minute around a quarter-hour's end; worlds of different places share nothing."""
    dice = random.Random(seed)
    middle = (2 * place + 1) * QUARTER + 20_000 * 86_400 * S
    first, last = middle - dice.randint(5, 14) * S, middle + dice.randint(5, 14) * S
    world = World(now=middle + QUARTER)
    for number in range(dice.randint(1, 3)):
        _add_fleet(dice, world, f"d{place}x{number}", place, (first, last))
    if dice.random() < 0.3:
        stray = Card(f"stray{place}", 0)
        stray.samples = _samples(dice, first, last)
        world.cards.append(stray)
    for number in range(dice.choice([1, 2, 4, 7])):
        _add_task(dice, world, f"t{place}x{number}", (first, last))
    return world


def _add_fleet(dice: random.Random, world: World, name: str, place: int, span: Stretch) -> None:
    first, last = span
    per_replica = dice.choice([1, 1, 1, 2, 4])
    fleet = Fleet(name, dice.randint(1, 4) * per_replica, per_replica, dice.choice([None, 1, 2, 3, 4]))
    if dice.random() < 0.2:
        fleet.cards += 1  # a group that is not full
    style = dice.choice(["declared", "sampled", "sampled", "mixed"])
    if style != "sampled" or dice.random() < 0.5:
        cut = dice.randint(first, last)
        fleet.held = dice.choice([[(first, last)], [(first, last)], [(first, cut), (cut + S, last + S)]])
    fleet.prices = _prices(dice, first, last)
    world.fleets.append(fleet)
    for slot in range(fleet.cards):
        card = Card(f"h{place}-{name}", slot, deployment=name, slot=slot, simulated=dice.random() < 0.1)
        if style == "sampled" or (style == "mixed" and dice.random() < 0.5):
            card.samples = _samples(dice, first, last)
        if not card.samples:
            card.simulated = False
        world.cards.append(card)


def _prices(dice: random.Random, first: int, last: int) -> list[tuple[int, int, int]]:
    change = dice.randint(first, last)
    one, two = dice.randint(100_000, 9_000_000), dice.randint(1, 9_000_000)
    return dice.choice(
        [
            [(0, FOREVER, one)],
            [(0, FOREVER, one)],
            [(0, change, one), (change, FOREVER, two)],
            [(0, FOREVER, 0)],
            [(change, FOREVER, one)],
            [],
        ]
    )


def _samples(dice: random.Random, first: int, last: int) -> list[tuple[int, dict[str, float]]]:
    samples: list[tuple[int, dict[str, float]]] = []
    at = first + dice.randint(0, 2 * S)
    busy, calm = dice.random() < 0.3, dice.random() < 0.5
    with_processes, with_power = dice.random() < 0.5, dice.random() < 0.5
    while at < last:
        busy = busy if dice.random() < 0.8 else dice.random() < 0.3
        seen = _sample(dice, busy=busy, calm=calm)
        if with_processes and dice.random() < 0.4:
            seen["processes"] = float(dice.choice([0, 0, 1]))
        if with_power:
            seen["power_w"] = dice.choice([60.0, 85.0, 86.0, 400.0])
        samples.append((at, seen))
        if dice.random() < 0.05:
            samples.append((at, {"util_ratio": dice.random()}))
        at += dice.choice([S, S, S, S, S + 3_000_000, S - 7_000_001, 3 * S, 3 * S + 1, 5 * S])
    return samples


def _sample(dice: random.Random, *, busy: bool, calm: bool) -> dict[str, float]:
    seen = {"up": 1.0, "util_ratio": dice.uniform(0.05, 1) if busy else dice.uniform(0, 0.049)}
    roll = 1 if calm else dice.random()
    if roll < 0.04:
        seen = {"up": 0.0}
    elif roll < 0.08:
        seen = {"up": 1.0}
    elif roll < 0.12:
        seen["util_ratio"] = 0.99
    if dice.random() < 0.4:
        seen["memory_used_mib"] = 70_000.0 if calm else dice.choice([0.0, 500.0, 70_000.0, 70_000.0])
    return seen


def _add_task(dice: random.Random, world: World, task: str, span: Stretch) -> None:
    first, last = span
    labels = dice.choice(["none", "all", "mixed"])
    at = dice.randint(first - 2 * S, last - 3 * S)
    for turn in range(dice.randint(1, 9)):
        kind = dice.choice(["llm", "llm", "tool", "tool", "retrieval", "embedding"])
        length = dice.choice([0, 1, dice.randint(1, S), dice.randint(S, 6 * S), dice.randint(S, 6 * S), S])
        step = Step(task, f"{task}-{turn}", kind, at, at + length)
        if kind in {"llm", "embedding"}:
            _place(dice, world, step, labels)
        else:
            step.person = dice.random() < 0.3
            step.tool = dice.choice(["Bash", "Bash", "Read", "Web"])
            step.work = dice.choice([None, None, length // 2, length, length + S])
        world.steps.append(step)
        at += dice.choice([0, length, length, length, length // 2, length + dice.randint(0, 2 * S)])


def _place(dice: random.Random, world: World, step: Step, labels: str) -> None:
    fleet = dice.choice(world.fleets)
    if dice.random() < 0.15:
        step.deployment = dice.choice([None, "somebody's API"])
        return
    step.deployment = fleet.name
    queue = dice.choice([0, 0, (step.end - step.start) // 3])
    step.busy = (step.start + queue, step.end)
    if labels == "all" or (labels == "mixed" and dice.random() < 0.5):
        step.replica = str(dice.randrange((fleet.cards - 1) // fleet.per_replica + 1))
        if dice.random() < 0.05:
            step.replica = "nowhere"
