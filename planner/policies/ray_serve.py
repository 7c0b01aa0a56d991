"""Ray Serve's replica autoscaler: ongoing requests per replica, with delays up and down."""

from math import ceil

from planner.policy import Habits, Observation, Window


class RayServe(Habits):
    """Scales by the mean of ongoing requests over `look_back_s`.

    A change must be wanted for its whole delay; turning round starts the count anew. To zero it goes in two
    stages, to 1 and then, after `to_zero_delay_s`, to 0. At 0 any request makes replicas at once. Its own
    loop runs every 0.1 s on metrics that come every 10 s; here a loop of 1 s rounds its delays up by less
    than a second.
    """

    wakes_on_arrival = True

    def __init__(
        self,
        *,
        target_ongoing_requests: float = 2.0,
        look_back_s: float = 30.0,
        upscale_delay_s: float = 30.0,
        downscale_delay_s: float = 600.0,
        to_zero_delay_s: float | None = None,
        upscaling_factor: float = 1.0,
        downscaling_factor: float = 1.0,
        min_replicas: int = 1,
        max_replicas: int = 100,
        loop_s: float = 1.0,
        name: str = "ray_serve",
    ) -> None:
        self.name = name
        self.start = min_replicas
        self.interval_s = loop_s
        self._target, self._factors = target_ongoing_requests, (upscaling_factor, downscaling_factor)
        self._delays = (upscale_delay_s, downscale_delay_s)
        self._to_zero_s = downscale_delay_s if to_zero_delay_s is None else to_zero_delay_s
        self._least, self._most = min_replicas, max_replicas
        self._window = Window(look_back_s)
        self.current = min_replicas
        self._direction = 0
        self._since_s = 0.0
        self.memory_s = look_back_s + 2 * max(upscale_delay_s, downscale_delay_s, self._to_zero_s)

    def decide(self, seen: Observation) -> int:
        """Take one round."""
        ongoing = self._window.add(seen.seen_s, seen.in_system_s)
        if not self.current and seen.in_system:
            ongoing = max(ongoing, float(seen.in_system))
        return self.follow(seen.now_s, ongoing)

    def wanted(self, ongoing: float) -> int:
        """Tell the replicas for a number of ongoing requests, before any delay."""
        current = self.current
        raw = ongoing / self._target
        factor = self._factors[0 if raw > current else 1]
        smooth = ceil(round(current + factor * (raw - current), 9))
        if smooth == current and ceil(raw) < current:
            smooth -= 1  # else rounding up would hold it for ever
        return min(max(smooth, self._least), self._most)

    def follow(self, now: float, ongoing: float) -> int:
        """Take one round with a mean of ongoing requests."""
        if not self.current:
            if ongoing > 0:
                self.current = min(max(ceil(self._factors[0]), self._least), self._most)
            self._direction = 0
            return self.current
        wanted = self.wanted(ongoing)
        if wanted == 0 and self.current > 1:
            wanted = 1
        direction = (wanted > self.current) - (wanted < self.current)
        if direction != self._direction:
            self._direction, self._since_s = direction, now
        if direction and now - self._since_s >= self._delay(direction, wanted) - 1e-9:
            self.current, self._direction = wanted, 0
        return self.current

    def _delay(self, direction: int, wanted: int) -> float:
        if direction > 0:
            return self._delays[0]
        return self._to_zero_s if wanted == 0 else self._delays[1]
