"""The ledger by its rules alone: every stretch in which nothing changes, one by one, in exact fractions.

It shares no step of the SQL: nothing is packed, summed ahead or sorted by anything but time.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from ledger_world import QUARTER, Card, Fleet, Step, Stretch, World
from oracle_evidence import Busy, Evidence

Cell = tuple[int, str, str, str | None, str]  # quarter, gpu, state, cause, provenance
Claim = tuple[int, str, str, str, str | None]  # quarter, deployment, state, who, cause
RANKS = ["lost", "cold_start", "unknown", "stuck", "unattributed", "busy", "loaded", "unloaded"]
IDLE = {"busy", "loaded"}


@dataclass
class Books:
    """What the oracle found, before rounding; money in millionths of a USD per hour x ns."""

    ns: dict[Cell, int] = field(default_factory=lambda: defaultdict(int))
    money: dict[Cell, int] = field(default_factory=lambda: defaultdict(int))
    unpriced: set[tuple[int, str]] = field(default_factory=set)
    claim_ns: dict[Claim, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    claim_money: dict[Claim, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    unplaced: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    timeline: dict[str, list[tuple[int, int, str]]] = field(default_factory=lambda: defaultdict(list))


class Oracle(Evidence):
    """One world, walked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.books = Books()
        self.fleets = {fleet.name: fleet for fleet in world.fleets}
        self.pools: dict[str, list[Card]] = defaultdict(list)
        for card in world.cards:
            self.pools[card.deployment or card.gpu_id].append(card)
        self.served = {pool: self._served(pool) for pool in self.pools}
        self.task_holds = {pool: self._task_holds(pool) for pool in self.pools}
        self.seen = {card.gpu_id: self._seen(card) for card in world.cards}
        self.speaking = {
            gpu: sorted(t for t, seen in at.items() if "util_ratio" in seen or seen.get("up") == 0)
            for gpu, at in self.seen.items()
        }
        self.holds = {card.gpu_id: self._holds(card) for card in world.cards}
        self.judged: dict[tuple[str, int], str] = {}
        self.colds = {card.gpu_id: self._colds(card) for card in world.cards}

    def walk(self) -> Books:
        for pool, cards in self.pools.items():
            moments = sorted(self._moments(cards))
            most = self._most_seen(pool, moments)
            for a, b in pairwise(moments):
                self._stretch(pool, cards, a, b, most[a // QUARTER])
        return self.books

    # -- what is there

    def _holds(self, card: Card) -> list[Stretch]:
        holds: list[Stretch] = []
        if card.deployment:
            holds += self.fleets[card.deployment].held
        times = sorted({t for t, _ in card.samples})
        for t, following in pairwise(times):
            if following - t <= self.world.released_after:
                holds.append((t, following))
        if card.deployment and not card.samples and not self.fleets[card.deployment].held:
            served = [s.busy for s in self._served(card.deployment)]
            if served:
                holds.append((min(a for a, _ in served), max(b for _, b in served)))
        return [(a, min(b, self.world.now)) for a, b in holds]

    def _served(self, pool: str) -> list["Busy"]:
        return [
            Busy(step, self._replica(step))
            for step in self.world.steps
            if step.deployment == pool and pool in self.fleets and step.busy and step.busy[0] < step.busy[1]
        ]

    def _replica(self, step: Step) -> int | None:
        fleet = self.fleets[step.deployment or ""]
        known = {
            str(card.slot // fleet.per_replica) for card in self.world.cards if card.deployment == fleet.name
        }
        return int(step.replica) if step.replica in known else None

    def _moments(self, cards: list[Card]) -> set[int]:
        at: set[int] = set()
        for card in cards:
            for hold in self.holds[card.gpu_id]:
                at.update(hold)
            for t, _ in card.samples:
                at.update((t, t - self.world.interval))
            for cold in self.colds[card.gpu_id]:
                at.update(cold)
            for a, b, _ in self._prices(card):
                at.update((a, b))
        for step in self.world.steps:
            at.update((step.start, step.end, max(step.start, step.end - (step.work or 0))))
            at.update(step.busy or ())
        at = {t for t in at if 0 < t <= self.world.now}
        at.update(t for t in range(min(at) // QUARTER * QUARTER, max(at) + 2 * QUARTER, QUARTER))
        return at

    def _prices(self, card: Card) -> list[tuple[int, int, int]]:
        return self.fleets[card.deployment].prices if card.deployment else []

    def _most_seen(self, pool: str, moments: list[int]) -> dict[int, int]:
        if pool not in self.fleets:
            return defaultdict(lambda: 1)
        fleet = self.fleets[pool]
        replicas = len({card.slot // fleet.per_replica for card in self.pools[pool]})
        most: dict[int, int] = defaultdict(lambda: 1)
        served = self.served[pool]
        for a, b in pairwise(moments):
            now = sum(1 for s in served if s.busy[0] <= a and b <= s.busy[1])
            most[a // QUARTER] = max(most[a // QUARTER], -(-now // replicas))
        if fleet.concurrency:
            return defaultdict(lambda: fleet.concurrency or 1)
        return most

    # -- who does what

    def _stretch(self, pool: str, cards: list[Card], a: int, b: int, c: int) -> None:
        fleet = self.fleets.get(pool)
        flying = [s for s in self.served[pool] if s.busy[0] <= a and b <= s.busy[1]]
        tools, others = self._waiting(pool, a, b)
        held = [k for k in cards if any(x <= a and b <= y for x, y in self.holds[k.gpu_id])]
        groups: dict[int, list[Card]] = defaultdict(list)
        for card in held:
            groups[card.slot // fleet.per_replica if fleet else 0].append(card)
        own = {card.gpu_id: self._evidence(card, pool, a, b) for card in held}
        worst = {
            r: min(
                ("loaded" if own[k.gpu_id] == "declared" else own[k.gpu_id] for k in group), key=RANKS.index
            )
            for r, group in groups.items()
        }
        serving, states = self._states(
            worst, flying, len(tools), len(others), c, held=self._is_held(pool, a, b)
        )
        for r, group in groups.items():
            for card in group:
                self._enter(card, a, b, states[r], own[card.gpu_id], tools, others)
        if fleet:
            self._charge(fleet, groups, flying, serving, states, tools, others, a, b)

    def _states(
        self, worst: dict[int, str], flying: list["Busy"], w: int, b: int, c: int, *, held: bool
    ) -> tuple[set[int], dict[int, str]]:
        f = len(flying)
        named = {
            s.replica for s in flying if s.replica is not None and worst.get(s.replica, "lost") != "lost"
        }
        available = [r for r in worst if worst[r] not in {"lost", "cold_start"}]
        at_work = [r for r in available if worst[r] in {"busy", "unattributed"}]
        if all(s.replica is not None for s in flying):
            count = len(named)
        else:
            count = max(len(named), min(len(available), f, max(-(-f // c), len(at_work))))
        queue = sorted(
            {*available, *named},
            key=lambda r: (r not in named, r not in at_work, worst[r] in {"stuck", "unloaded"}, r),
        )
        serving = set(queue[:count])
        idle = [r for r in queue if r not in serving and worst[r] in IDLE]
        for_tools = min(max(-(-(f + w) // c) - max(count, -(-f // c)), 0), len(idle))
        between = min(max(-(-(f + w + b) // c) - max(count, -(-(f + w) // c)), 0), len(idle) - for_tools)
        states = {r: worst[r] for r in worst}
        states.update(dict.fromkeys(serving, "serving"))
        for place, r in enumerate(idle):
            rest = "spare" if held else "no_task"
            states[r] = (
                "tool_wait" if place < for_tools else "between_steps" if place < for_tools + between else rest
            )
        return serving, states

    def _is_held(self, pool: str, a: int, b: int) -> bool:
        return any(x <= a and b <= y for x, y in self.task_holds[pool].values())

    def _task_holds(self, pool: str) -> dict[str, Stretch]:
        holds: dict[str, Stretch] = {}
        for s in self.served[pool]:
            x, y = holds.get(s.step.task, s.busy)
            holds[s.step.task] = (min(x, s.busy[0]), max(y, s.busy[1]))
        return holds

    def _waiting(self, pool: str, a: int, b: int) -> tuple[dict[str, list[str]], dict[str, str]]:
        tools: dict[str, list[str]] = {}
        others: dict[str, str] = {}
        for task, (x, y) in self.task_holds[pool].items():
            if not (x <= a and b <= y):
                continue
            mine = [step for step in self.world.steps if step.task == task]
            if any(s.busy[0] <= a and b <= s.busy[1] for s in self.served[pool] if s.step.task == task):
                continue
            working = [s.tool for s in mine if _works(s) and _works(s)[0] <= a and b <= _works(s)[1]]
            if working:
                tools[task] = working
            elif any(self._elsewhere(s, pool, a, b) for s in mine):
                others[task] = "other_model"
            elif any(_asks(s) and _asks(s)[0] <= a and b <= _asks(s)[1] for s in mine):
                others[task] = "person"
            else:
                others[task] = "orchestrator"
        return tools, others

    def _elsewhere(self, step: Step, pool: str, a: int, b: int) -> bool:
        if step.kind not in {"llm", "embedding"} or step.deployment == pool:
            return False
        x, y = step.busy or (step.start, step.end)
        return x <= a and b <= y

    # -- who pays

    def _price(self, card: Card, a: int, b: int) -> int | None:
        return next((price for x, y, price in self._prices(card) if x <= a and b <= y), None)

    def _enter(
        self,
        card: Card,
        a: int,
        b: int,
        state: str,
        own: str,
        tools: dict[str, list[str]],
        others: dict[str, str],
    ) -> None:
        cause = None
        if state == "tool_wait":
            names = {name for working in tools.values() for name in working}
            cause = names.pop() if len(names) == 1 else "several"
        if state == "between_steps":
            causes = set(others.values())
            cause = causes.pop() if len(causes) == 1 else "several"
        provenance = "measured"
        if own in {"unknown", "declared"}:
            provenance = "estimated"
        if state == "unknown":
            provenance = "unknown"
        if card.simulated:
            provenance = "simulated"
        cell = (a // QUARTER * QUARTER, card.gpu_id, state, cause, provenance)
        price = self._price(card, a, b)
        self.books.ns[cell] += b - a
        self.books.money[cell] += (b - a) * (price or 0)
        self.books.timeline[card.gpu_id].append((a, b, state))
        if price is None:
            self.books.unpriced.add((cell[0], card.gpu_id))

    def _charge(
        self,
        fleet: Fleet,
        groups: dict[int, list[Card]],
        flying: list["Busy"],
        serving: set[int],
        states: dict[int, str],
        tools: dict[str, list[str]],
        others: dict[str, str],
        a: int,
        b: int,
    ) -> None:
        if all(s.replica is not None for s in flying):
            for r in {s.replica for s in flying}:
                mine = [s for s in flying if s.replica == r]
                if r not in serving:
                    self.books.unplaced[a // QUARTER * QUARTER, fleet.name] += (b - a) * len(mine)
                cards = groups[r or 0] if r in serving else []
                who = self._by_weight(fleet.name, mine, a)
                self._share(fleet, cards, "serving", who, a, b)
        else:
            cards = [card for r in serving for card in groups[r]]
            if not serving:
                self.books.unplaced[a // QUARTER * QUARTER, fleet.name] += (b - a) * len(flying)
            self._share(fleet, cards, "serving", self._by_weight(fleet.name, flying, a), a, b)
        for state, who in (("tool_wait", self._by_tool(tools)), ("between_steps", self._by_cause(others))):
            cards = [card for r, group in groups.items() if states[r] == state for card in group]
            if cards:
                self._share(fleet, cards, state, who, a, b)

    def _by_weight(self, pool: str, flying: list[Busy], a: int) -> dict[tuple[str, str | None], Fraction]:
        if self.world.weights == "equal":
            return {(s.step.name, None): Fraction(1, len(flying)) for s in flying}
        start = a // QUARTER * QUARTER
        near = [s for s in self.served[pool] if s.busy[0] < start + QUARTER and s.busy[1] > start]
        known = sorted(work for s in near if (work := _work_per_s(s)) is not None)
        usual = known[(len(known) - 1) // 2] if known else 1
        weights = {s.step.name: _work_per_s(s) or usual for s in flying}
        return {(name, None): Fraction(weight, sum(weights.values())) for name, weight in weights.items()}

    @staticmethod
    def _by_tool(tools: dict[str, list[str]]) -> dict[tuple[str, str | None], Fraction]:
        shares: dict[tuple[str, str | None], Fraction] = defaultdict(Fraction)
        for task, working in tools.items():
            for name in working:
                shares[task, name] += Fraction(1, len(working) * len(tools))
        return shares

    @staticmethod
    def _by_cause(others: dict[str, str]) -> dict[tuple[str, str | None], Fraction]:
        return {(task, cause): Fraction(1, len(others)) for task, cause in others.items()}

    def _share(
        self,
        fleet: Fleet,
        cards: list[Card],
        state: str,
        who: dict[tuple[str, str | None], Fraction],
        a: int,
        b: int,
    ) -> None:
        for (name, cause), part in who.items():
            claim = (a // QUARTER * QUARTER, fleet.name, state, name, cause)
            price = sum(self._price(card, a, b) or 0 for card in cards)
            self.books.claim_ns[claim] += part * (b - a) * len(cards)
            self.books.claim_money[claim] += part * (b - a) * price


def _work_per_s(flying: Busy) -> int | None:
    if flying.step.tokens is None:
        return None
    whole, cached, output = flying.step.tokens
    work = 10 * (whole - cached) + cached + 40 * output
    return max(1, min(10**9, work * 10**9 // (flying.busy[1] - flying.busy[0])))


def _works(step: Step) -> Stretch | None:
    if step.kind not in {"tool", "retrieval"}:
        return None
    work = step.work if step.work is not None else (0 if step.person else step.end - step.start)
    return max(step.start, step.end - work), step.end


def _asks(step: Step) -> Stretch | None:
    working = _works(step)
    return (step.start, working[0]) if working and step.person else None


__all__ = ["Books", "Cell", "Oracle"]
