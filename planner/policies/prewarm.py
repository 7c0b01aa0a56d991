"""Pre-warming from step profiles: a replica stands ready half a step before it is wanted."""

from math import ceil

from planner.policies.profiles import Profiles
from planner.policy import Habits, Most, Observation


class Prewarm(Habits):
    """Keeps replicas for the calls in the system and for those that tools will soon send.

    A task in a tool is expected back after the tool's usual time. Its replica is started a cold start and
    half a call earlier, and is kept while it is expected; what nobody expects goes after `idle_s`.
    """

    interval_s = 1.0
    wakes_on_arrival = True
    reads = frozenset({"between"})

    def __init__(
        self,
        profiles: Profiles,
        *,
        cold_start_s: float,
        call_s: float,
        idle_s: float = 60.0,
        min_replicas: int = 0,
        max_replicas: int = 100,
        name: str = "prewarm",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self._profiles = profiles
        self._lead_s = cold_start_s + call_s / 2
        self._least, self._most = min_replicas, max_replicas
        self._wanted = Most(idle_s)

    def decide(self, seen: Observation) -> int:
        """Take one tick."""
        if seen.in_system is None:
            return seen.provisioned
        coming = self._profiles.coming(seen.between, seen.now_s, self._lead_s)
        wanted = ceil((seen.in_system + coming) / seen.concurrency)
        kept = self._wanted.add(seen.now_s, wanted)
        return min(max(wanted, min(kept, seen.provisioned), self._least), self._most)
