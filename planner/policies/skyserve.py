"""SkyServe's request-rate autoscaler, with its mix of spot and on-demand replicas."""

from math import ceil
from typing import NamedTuple

from planner.policy import Habits, Observation, Target, Window


class SpotMix(NamedTuple):
    """How spot and on-demand share the target: pool 0 is on demand, pool 1 spot."""

    num_overprovision: int = 0
    base_ondemand_fallback: int = 0
    is_dynamic: bool = True


class SkyServe(Habits):
    """Scales by requests per second; a change must be wanted in int(delay / tick) ticks running.

    While there is no replica the tick is 5 s, and a target of 0 takes a new one at once.
    """

    interval_s = 20.0
    idle_interval_s = 5.0

    def __init__(
        self,
        *,
        target_qps_per_replica: float,
        qps_window_s: float = 60.0,
        upscale_delay_s: float = 300.0,
        downscale_delay_s: float = 1_200.0,
        min_replicas: int = 1,
        max_replicas: int = 100,
        spot: SpotMix | None = None,
        name: str = "skyserve",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self._qps, self._least, self._most, self._spot = (
            target_qps_per_replica,
            min_replicas,
            max_replicas,
            spot,
        )
        self._delays = (upscale_delay_s, downscale_delay_s)
        self._window = Window(qps_window_s)
        self._window_s = qps_window_s
        self.target = min_replicas
        self._ups = self._downs = 0
        self.memory_s = qps_window_s + 2 * max(self._delays)

    def decide(self, seen: Observation) -> Target:
        """Take one tick."""
        self._window.add(seen.seen_s, seen.arrived)
        tick_s = self.interval_s if seen.provisioned else self.idle_interval_s
        rate = self._window.total() / self._window_s
        target = self.follow(rate, tick_s)
        return self._mix(target, seen.ready_by_pool) if self._spot else target

    def follow(self, queries_per_s: float, tick_s: float) -> int:
        """Take one tick with a request rate."""
        wanted = min(max(ceil(queries_per_s / self._qps), self._least), self._most)
        if self.target == 0:
            self.target = wanted
            self._ups = self._downs = 0
        elif wanted > self.target:
            self._ups, self._downs = self._ups + 1, 0
            self._take(wanted, self._ups, self._delays[0], tick_s)
        elif wanted < self.target:
            self._ups, self._downs = 0, self._downs + 1
            self._take(wanted, self._downs, self._delays[1], tick_s)
        else:
            self._ups = self._downs = 0
        return self.target

    def _take(self, wanted: int, ticks: int, delay_s: float, tick_s: float) -> None:
        if ticks >= int(delay_s / tick_s):
            self.target = wanted
            self._ups = self._downs = 0

    def _mix(self, target: int, ready_by_pool: tuple[int, ...]) -> tuple[int, int]:
        mix = self._spot or SpotMix()
        spot = max(target + mix.num_overprovision - mix.base_ondemand_fallback, 0)
        missing = max(spot - ready_by_pool[1], 0) if mix.is_dynamic and len(ready_by_pool) > 1 else 0
        return mix.base_ondemand_fallback + min(missing, target), spot
