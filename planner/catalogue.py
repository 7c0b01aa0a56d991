"""From the settings of a policy to the policy, with what the recording fills in."""

from collections.abc import Callable
from typing import Any

from planner.facts import Facts
from planner.policies.agent_autoscale import AgentAutoscale, Exact, read_scale_down, read_scale_up
from planner.policies.fixed import FixedCount
from planner.policies.hpa import Hpa, Limits
from planner.policies.keda import Keda
from planner.policies.knative import Knative
from planner.policies.prewarm import Prewarm
from planner.policies.profiles import Profiles, StepProfile
from planner.policies.queue_length import QueueLength
from planner.policies.ray_serve import RayServe
from planner.policies.skyserve import SkyServe, SpotMix
from planner.policies.token_rate import TokenRate
from planner.policy import Policy
from planner.policy_file import (
    AgentAutoscaleBlock,
    Block,
    FixedBlock,
    HpaBlock,
    KedaBlock,
    KnativeBlock,
    NamedBlocks,
    PolicyFile,
    PrewarmBlock,
    QueueLengthBlock,
    RayServeBlock,
    SkyServeBlock,
    TokenRateBlock,
)
from taximeter.errors import BadInputError


def make_policy(named: NamedBlocks, facts: Facts) -> Policy:
    """Make a policy, new and without memory.

    Raises:
        BadInputError: it needs a figure that neither its settings nor the recording tell.
    """
    kind, block = named.block()
    made: Policy = _MAKERS[kind](block, facts, named.name or title(kind, block))
    return made


def title(kind: str, block: Block) -> str:
    """Name a policy that has no name of its own."""
    return f"fixed-{block.replicas}" if isinstance(block, FixedBlock) else kind


def all_policies(facts: Facts) -> PolicyFile:
    """List every policy with its makers' defaults, and the fixed numbers of what ran and of what was used."""
    most = facts.most_replicas
    counts = sorted({1, most, facts.replicas or 1})
    named = [NamedBlocks.model_validate({"fixed": {"replicas": count}}) for count in counts]
    defaults: list[dict[str, Any]] = [
        {"agent_autoscale": {"per_step_profile": True}},
        {
            "name": "agent_autoscale_wait",
            "agent_autoscale": {"scale_up": "p95_wait > 800ms", "per_step_profile": True},
        },
        {"hpa": {}},
        {"keda": {}},
        {"knative": {}},
        {"ray_serve": {}},
        {"name": "ray_serve_zero", "ray_serve": {"min_replicas": 0}},
        {"skyserve": {}},
        {"queue_length": {}},
        {"prewarm": {}},
    ]
    if facts.tokens_per_s_per_replica:
        defaults.append({"token_rate": {}})
    named += [NamedBlocks.model_validate(one) for one in defaults]
    return PolicyFile(policies=named)


def _fixed(block: FixedBlock, facts: Facts, name: str) -> Policy:
    del facts
    return FixedCount(block.replicas, name)


def _hpa(block: HpaBlock, facts: Facts, name: str) -> Policy:
    limits = Limits(block.tolerance, block.stabilize_down_s, block.stabilize_up_s)
    return Hpa(
        target=block.target or facts.concurrency,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        limits=limits,
        name=name,
    )


def _keda(block: KedaBlock, facts: Facts, name: str) -> Policy:
    return Keda(
        threshold=block.threshold or facts.concurrency,
        activation=block.activation_threshold,
        polling_s=block.polling_interval_s,
        cooldown_s=block.cooldown_s,
        initial_cooldown_s=block.initial_cooldown_s,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        fallback_replicas=block.fallback_replicas,
        failure_threshold=block.failure_threshold,
        name=name,
    )


def _knative(block: KnativeBlock, facts: Facts, name: str) -> Policy:
    return Knative(
        target=(block.target_concurrency or facts.concurrency) * block.target_utilization,
        stable_s=block.stable_window_s,
        panic_ratio=block.panic_window_ratio,
        panic_threshold=block.panic_threshold_ratio,
        down_delay_s=block.scale_down_delay_s,
        grace_s=block.grace_s,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        name=name,
    )


def _ray_serve(block: RayServeBlock, facts: Facts, name: str) -> Policy:
    return RayServe(
        target_ongoing_requests=block.target_ongoing_requests,
        look_back_s=block.look_back_period_s,
        upscale_delay_s=block.upscale_delay_s,
        downscale_delay_s=block.downscale_delay_s,
        to_zero_delay_s=block.downscale_to_zero_delay_s,
        upscaling_factor=block.upscaling_factor,
        downscaling_factor=block.downscaling_factor,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        name=name,
    )


def _skyserve(block: SkyServeBlock, facts: Facts, name: str) -> Policy:
    mix = SpotMix(block.num_overprovision, block.base_ondemand_fallback, block.dynamic_ondemand_fallback)
    return SkyServe(
        target_qps_per_replica=block.target_qps_per_replica
        or facts.concurrency / max(facts.call_mean_s, 1e-9),
        qps_window_s=block.qps_window_s,
        upscale_delay_s=block.upscale_delay_s,
        downscale_delay_s=block.downscale_delay_s,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        spot=mix if block.spot else None,
        name=name,
    )


def _queue_length(block: QueueLengthBlock, facts: Facts, name: str) -> Policy:
    return QueueLength(
        target=block.target,
        tick_s=block.tick_s,
        down_after_s=block.down_after_s,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        name=name,
    )


def _token_rate(block: TokenRateBlock, facts: Facts, name: str) -> Policy:
    rate = block.tokens_per_s_per_replica or facts.tokens_per_s_per_replica
    if not rate:
        message = f"{name}: the recording tells no tokens; set tokens_per_s_per_replica"
        raise BadInputError(message)
    return TokenRate(
        tokens_per_s_per_replica=rate,
        window_s=block.window_s,
        tick_s=block.tick_s,
        up_tolerance=block.up_tolerance,
        down_tolerance=block.down_tolerance,
        down_window_s=block.down_window_s,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        name=name,
    )


def _agent_autoscale(block: AgentAutoscaleBlock, facts: Facts, name: str) -> Policy:
    profiles = None
    if block.per_step_profile is True:
        profiles = Profiles(facts.profiles)
    elif block.per_step_profile:
        profiles = Profiles(StepProfile(row.step, row.duration_p50_s) for row in block.per_step_profile)
    return AgentAutoscale(
        up=read_scale_up(block.scale_up),
        idle_s=read_scale_down(block.scale_down),
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        exact=Exact(block.window_s, block.min_samples, block.breaches, block.tick_s, block.step),
        profiles=profiles,
        lead_s=facts.cold_start_s + facts.call_p50_s / 2,
        wakes=block.wake != "none",
        name=name,
    )


def _prewarm(block: PrewarmBlock, facts: Facts, name: str) -> Policy:
    given = block.profiles
    rows = facts.profiles if given is None else [StepProfile(row.step, row.duration_p50_s) for row in given]
    return Prewarm(
        Profiles(rows),
        cold_start_s=facts.cold_start_s,
        call_s=facts.call_p50_s,
        idle_s=block.idle_s,
        min_replicas=block.min_replicas,
        max_replicas=_most(block.max_replicas, facts),
        name=name,
    )


def _most(given: int | None, facts: Facts) -> int:
    return given or facts.most_replicas


_MAKERS: dict[str, Callable[[Any, Facts, str], Policy]] = {
    "fixed": _fixed,
    "hpa": _hpa,
    "keda": _keda,
    "knative": _knative,
    "ray_serve": _ray_serve,
    "skyserve": _skyserve,
    "queue_length": _queue_length,
    "token_rate": _token_rate,
    "agent_autoscale": _agent_autoscale,
    "prewarm": _prewarm,
}
