"""What samples say of a card, by the rules alone: windows, cold starts, and what a busy second was."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from ledger_world import Card, Fleet, S, Step, Stretch, World


@dataclass
class Busy:
    """A step in flight, and the replica that it names if there is one of that name."""

    step: Step
    replica: int | None

    @property
    def busy(self) -> Stretch:
        return self.step.busy or (0, 0)


class Evidence:
    """The part of the oracle that reads samples; the steps served and the fleets come from the rest of it."""

    world: World
    fleets: dict[str, Fleet]
    served: dict[str, list[Busy]]
    seen: dict[str, dict[int, dict[str, float]]]
    speaking: dict[str, list[int]]
    colds: dict[str, list[Stretch]]
    judged: dict[tuple[str, int], str]

    def _evidence(self, card: Card, pool: str, a: int, b: int) -> str:
        if not card.samples:
            return "declared"
        speaking = self.speaking[card.gpu_id]
        after = [t for t in speaking if t >= b]
        if not after:
            return "unknown"
        t = after[0]
        earlier = [x for x in speaking if x < t]
        start = (
            earlier[-1] if earlier and t - earlier[-1] <= 3 * self.world.interval else t - self.world.interval
        )
        if a < start:
            return "unknown"
        if (card.gpu_id, t) not in self.judged:
            self.judged[card.gpu_id, t] = self._judge(card, pool, start, t)
        judged = self.judged[card.gpu_id, t]
        is_cold = any(x <= a and b <= y for x, y in self.colds[card.gpu_id])
        return "cold_start" if is_cold and judged != "lost" else judged

    @staticmethod
    def _seen(card: Card) -> dict[int, dict[str, float]]:
        """Gather what was sampled by time; of equal times the busiest counts."""
        at: dict[int, dict[str, float]] = defaultdict(dict)
        for t, seen in card.samples:
            for metric, value in seen.items():
                at[t][metric] = max(value, at[t].get(metric, value))
        return at

    def _lately(self, card: Card, t: int, metric: str) -> float | None:
        at = self.seen[card.gpu_id]
        latest = max((when for when, seen in at.items() if when <= t and metric in seen), default=None)
        if latest is None or latest < t - 15 * self.world.interval:
            return None
        return at[latest][metric]

    def _colds(self, card: Card) -> list[Stretch]:
        """Find when a model was loaded: empty, then held, until a step ends, memory rests or goes."""
        found: list[Stretch] = []
        speaking = self.speaking[card.gpu_id]
        for before, t in pairwise(speaking):
            seen = self.seen[card.gpu_id][t]
            if t - before > 3 * self.world.interval or "util_ratio" not in seen:
                continue
            if not (self._is_empty(card, before) and self._holds_memory(card, t)):
                continue
            ends = [before + 900 * S]
            ends += [x for x, y in pairwise(speaking) if x >= t and self._is_empty(card, y)]
            ends += [
                y
                for y in speaking
                if before + 60 * S <= y <= before + 900 * S and self._rests(card, before, y)
            ]
            ends += [
                s.busy[1]
                for s in self.served.get(card.deployment or "", [])
                if before < s.busy[1] <= before + 900 * S
                and s.step.replica in {None, str(card.slot // self._group(card)), card.uuid}
            ]
            found.append((before, min(ends)))
        return found

    def _group(self, card: Card) -> int:
        return self.fleets[card.deployment or ""].per_replica

    def _is_empty(self, card: Card, t: int) -> bool:
        processes, memory = self._lately(card, t, "processes"), self._lately(card, t, "memory_used_mib")
        if processes is None:
            return memory is not None and memory < 1
        return processes == 0 and (memory or 0) < 1024

    def _holds_memory(self, card: Card, t: int) -> bool:
        return (self._lately(card, t, "processes") or 0) > 0 or (
            self._lately(card, t, "memory_used_mib") or 0
        ) >= 1024

    def _rests(self, card: Card, begun: int, t: int) -> bool:
        minute = [x for x in self.speaking[card.gpu_id] if t - 60 * S <= x <= t]
        if minute[0] <= begun or minute[0] > t - 55 * S:
            return False
        held = [m for x in minute if (m := self._lately(card, x, "memory_used_mib")) is not None]
        return bool(held) and max(held) - min(held) <= max(64, 0.01 * max(held))

    def _judge(self, card: Card, pool: str, start: int, t: int) -> str:
        now = self.seen[card.gpu_id][t]
        util = now.get("util_ratio")
        if util is None:
            return "lost"
        power, empty = now.get("power_w"), self._is_empty(card, t)
        if util >= 0.95 and (empty or (power is not None and power <= 1.25 * 68.6)):
            return "stuck"
        if util >= self.world.busy_ratio:
            return "busy" if self._step_is_near(card, pool, start, t) else "unattributed"
        return "unloaded" if empty else "loaded"

    def _step_is_near(self, card: Card, pool: str, start: int, t: int) -> bool:
        if pool not in self.fleets:
            return False
        mine = card.slot // self.fleets[pool].per_replica
        slack = self.world.tolerance
        return any(
            s.busy[0] < t + slack and s.busy[1] > start - slack
            for s in self.served[pool]
            if s.replica in (None, mine)
        )
