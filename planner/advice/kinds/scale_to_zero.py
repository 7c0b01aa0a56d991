"""Scale to zero: let all replicas go when nobody calls, where cold starts are short enough for the SLO."""

from collections.abc import Iterator
from typing import Any

from planner.advice import manifests
from planner.advice.fleets import best, judged, none_found, tell
from planner.advice.found import Found, Refusal
from planner.advice.kinds.scale_down import of_policy
from planner.advice.load import Load
from planner.policy_file import NamedBlocks

KIND = "scale_to_zero"
_POLICIES: tuple[dict[str, Any], ...] = (
    {"keda": {"min_replicas": 0}},
    {"name": "keda_warm", "keda": {"min_replicas": 0, "cooldown_s": 3_600}},
    {"knative": {"min_replicas": 0}},
    {"name": "ray_serve_zero", "ray_serve": {"min_replicas": 0}},
)


def find(load: Load) -> Iterator[Found]:
    """Advise for each deployment the autoscaler that saves most and keeps the SLO with its cold starts."""
    for one in judged(load, KIND):
        if isinstance(one, Refusal):
            yield one
            continue
        policies = [NamedBlocks.model_validate(block) for block in _POLICIES]
        chosen = best(one, [of_policy(one.name, policy, one.case) for policy in policies])
        if chosen is None:
            yield none_found(KIND, one)
            continue
        policy = next(p for p in policies if (p.name or p.block()[0]) == chosen.outcome.policy)
        yield tell(
            KIND,
            one,
            chosen,
            load,
            what=f"from 0 replicas up under {policy.block()[0]}",
            change="Apply the manifest; calls that come while there is no replica must be held by what"
            " stands before"
            " the deployment, not refused.",
            manifest=manifests.of_policy(one.name, policy, one.case.facts),
        )
