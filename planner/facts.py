"""What a recording tells that policies are set up with: calls at once, how long calls and tools take."""

import math
from statistics import mean, median
from typing import NamedTuple

from planner.fleet import Fleet
from planner.policies.profiles import StepProfile, measure_profiles
from planner.workload import Workload


class Facts(NamedTuple):
    """Figures of one workload on one fleet; None where the recording does not tell them."""

    concurrency: int
    cold_start_s: float
    call_p50_s: float
    call_mean_s: float
    call_p95_s: float
    most_in_flight: int
    replicas: int | None
    tokens_per_s_per_replica: float | None
    tool_p50_s: float | None
    profiles: tuple[StepProfile, ...]

    @property
    def most_replicas(self) -> int:
        """The replicas a policy may use where nobody said: those recorded, or what the load used at once."""
        return max(self.replicas or 1, math.ceil(self.most_in_flight / self.concurrency))


def look(workload: Workload, fleet: Fleet, replicas: int | None) -> Facts:
    """Measure a workload with at least one served step."""
    pool = fleet.pools[0]
    work = sorted(w for w, is_served in zip(workload.work_s, workload.served, strict=True) if is_served)
    tools = [
        (workload.profiles[name], seconds)
        for name, seconds, is_served in zip(workload.profile, workload.work_s, workload.served, strict=True)
        if not is_served
    ]
    tokens = [
        used
        for used, is_served in zip(workload.tokens, workload.served, strict=True)
        if is_served and not math.isnan(used)
    ]
    rate = sum(tokens) / len(tokens) / mean(work) * pool.concurrency if tokens and mean(work) > 0 else None
    return Facts(
        concurrency=pool.concurrency,
        cold_start_s=pool.cold_start.usual_s,
        call_p50_s=median(work),
        call_mean_s=mean(work),
        call_p95_s=work[math.ceil(0.95 * len(work)) - 1],
        most_in_flight=_most_in_flight(workload),
        replicas=replicas,
        tokens_per_s_per_replica=rate,
        tool_p50_s=median(seconds for _, seconds in tools) if tools else None,
        profiles=tuple(measure_profiles([name for name, _ in tools], [seconds for _, seconds in tools])),
    )


def _most_in_flight(workload: Workload) -> int:
    edges = []
    for start, wait, took, is_served in zip(
        workload.start_s, workload.wait_s, workload.recorded_s, workload.served, strict=True
    ):
        if is_served:
            begun = start + (0.0 if math.isnan(wait) else wait)
            edges += [(begun, 1), (begun + took, -1)]
    most = flying = 0
    for _, change in sorted(edges):
        flying += change
        most = max(most, flying)
    return most
